// Where one types in a JSON5 text, and what its JSON Schema has to offer there.

const WORD = /[\w$-]/;

// The path of objects around a place, whether a key or a value is typed there, and where what was typed of it begins.
export function placeAt(text, at) {
  const stack = [];
  let key = null;
  let word = "";
  let start = 0;
  let i = 0;
  const top = () => stack[stack.length - 1];
  while (i < at) {
    const one = text[i];
    if (one === "/" && text[i + 1] === "/") {
      const end = text.indexOf("\n", i);
      if (end < 0 || end >= at) return null;
      i = end;
    } else if (one === "/" && text[i + 1] === "*") {
      const end = text.indexOf("*/", i + 2);
      if (end < 0 || end + 2 > at) return null;
      i = end + 2;
      continue;
    } else if (one === '"' || one === "'") {
      let end = i + 1;
      while (end < text.length && text[end] !== one && text[end] !== "\n") end += text[end] === "\\" ? 2 : 1;
      if (end >= at) return made(stack, key, text.slice(i + 1, at), i);
      word = text.slice(i + 1, end);
      i = end;
    } else if (WORD.test(one)) {
      start = i;
      while (i < at && WORD.test(text[i])) i += 1;
      if (i >= at) return made(stack, key, text.slice(start, at), start);
      word = text.slice(start, i);
      continue;
    } else if (one === "{" || one === "[") {
      stack.push({ kind: one, key });
      key = null;
      word = "";
    } else if (one === "}" || one === "]") {
      stack.pop();
      key = null;
      word = "";
    } else if (one === ":") key = word;
    else if (one === ",") {
      if (top()?.kind === "{") key = null;
      word = "";
    }
    i += 1;
  }
  return made(stack, key, "", at);
}

function made(stack, key, typed, start) {
  if (!stack.length) return null;
  const path = stack.slice(1).map((one) => one.key ?? "0");
  const isKey = stack[stack.length - 1].kind === "{" && key === null;
  return { path: isKey || key === null ? path : [...path, key], isKey, typed, start };
}

// Every schema that may describe the value at a path.
function schemasAt(root, path) {
  const all = (schema) => {
    if (!schema || typeof schema !== "object") return [];
    if (schema.$ref) return all(schema.$ref.slice(2).split("/").reduce((value, name) => value?.[name], root));
    return [schema, ...[...(schema.anyOf || []), ...(schema.oneOf || []), ...(schema.allOf || [])].flatMap(all)];
  };
  let found = all(root);
  for (const name of path) {
    found = found.flatMap((schema) => all(schema.properties?.[name] ?? (schema.items && /^\d+$/.test(name) ? schema.items : schema.additionalProperties)));
  }
  return found;
}

// What may be written at a place: keys of an object, or values of a closed set. What was typed already narrows it.
export function fitting(root, { path, isKey, typed }) {
  const schemas = schemasAt(root, path);
  const found = new Map();
  for (const schema of schemas) {
    if (isKey) {
      for (const [name, about] of Object.entries(schema.properties || {}))
        found.set(name, { shown: name, written: `${/^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name)}: `, about: about?.description || "" });
    } else {
      const values = [...(schema.enum || []), ...("const" in schema ? [schema.const] : []), ...(schema.type === "boolean" ? [true, false] : [])];
      for (const value of values) if (value !== null && typeof value !== "object") found.set(String(value), { shown: String(value), written: JSON.stringify(value), about: "" });
    }
  }
  const begun = typed.toLowerCase();
  const fits = [...found.values()].filter((one) => one.shown.toLowerCase().includes(begun) && one.shown !== typed);
  return fits.sort((one, other) => Number(other.shown.toLowerCase().startsWith(begun)) - Number(one.shown.toLowerCase().startsWith(begun)) || one.shown.localeCompare(other.shown));
}
