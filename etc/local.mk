# Installed examples and the bash completion.
