"""Validates the JSON and YAML output of fabricctl, and its errors as JSON, against `fabricctl schema`."""

import json
import subprocess

import jsonschema


VALUES = ("pattern", "minimum", "maximum", "enum")


def without_values(schema):
    """Returns a schema without ranges, patterns and lists of words: it is about keys and types only."""
    if isinstance(schema, list):
        return [without_values(s) for s in schema]
    if not isinstance(schema, dict):
        return schema
    if "properties" in schema:
        return {k: {n: without_values(p) for n, p in v.items()} if k == "properties" else without_values(v)
                for k, v in schema.items()}
    return {k: without_values(v) for k, v in schema.items() if k not in VALUES}


class Schema:
    """The schemas of all commands of a fabricctl. strict: values must be valid, too, and not only keys and types."""

    def __init__(self, ctl, strict=True):
        text = subprocess.run([ctl, "schema"], capture_output=True, check=True).stdout
        self.definitions = json.loads(text)["$defs"]
        if not strict:
            self.definitions = without_values(self.definitions)
        self.validators = {}

    def _validator(self, name):
        if name not in self.validators:
            schema = self.definitions[name]
            jsonschema.Draft202012Validator.check_schema(schema)
            self.validators[name] = jsonschema.Draft202012Validator(schema)
        return self.validators[name]

    def name(self, words):
        """Returns the name of the schema of a command line without options before the command; None: it has none."""
        names = ["-".join(words[:n]) for n in (2, 1) if len(words) >= n]
        return next((n for n in names if n in self.definitions), None)

    def problem(self, words, value):
        """Says what is wrong with an output of the command that begins with these words; None: nothing."""
        name = self.name(words)
        if name is None:
            return f"{' '.join(words[:2])} has no schema"
        return self._problem(name, value)

    def _problem(self, name, value):
        error = jsonschema.exceptions.best_match(self._validator(name).iter_errors(value))
        if error is None:
            return None
        deep = "; ".join(f"{'/'.join(map(str, e.absolute_path))}: {e.message[:200]}" for e in (error.context or [])[:6])
        return f"not valid by the schema {name}: /{'/'.join(map(str, error.absolute_path))}: {error.message[:300]} [{deep}]"

    def error_problem(self, text, code):
        """Says what is wrong with an error in JSON; None: nothing."""
        try:
            value = json.loads(text)
        except ValueError as error:
            return f"the error is no JSON: {error}: {text!r}"
        wrong = self._problem("error", value)
        if wrong is None and value["error"]["exit_status"] != code:
            wrong = f"the error says exit status {value['error']['exit_status']}, but it is {code}"
        return wrong
