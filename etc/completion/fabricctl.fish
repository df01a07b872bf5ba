# fish completion for fabricctl. The program itself says what can follow: 'fabricctl __complete WORD...' prints a
# line for each candidate, with a tab and a description, and for ":files" the names of files follow.

function __fabricctl_complete
    set -l words (commandline -opc)[2..-1] (commandline -ct)
    for line in (fabricctl __complete $words 2>/dev/null)
        switch $line
            case ':files*'
                __fish_complete_path (commandline -ct)
            case ':*'
            case '*'
                echo $line
        end
    end
end

complete -c fabricctl -f -a '(__fabricctl_complete)'
