/** A part of a text and what replaces it. */
export interface Edit {
  start: number
  end: number
  label: string
}

/** A string, a number or a word (`true`) of a JSON text. */
interface Literal {
  start: number
  end: number
  /** Its place in the readable text, without quotation marks. */
  readableStart: number
  value: string
}

/** A JSON text whose strings can be read and replaced. */
export interface JsonText {
  /** The text with the escapes of its strings decoded. */
  readable: string
  /** The text with the edits of the readable one, still valid JSON. */
  apply(edits: readonly Edit[]): string
}

const literalPattern = /"(?:[^"\\]|\\[\s\S])*"|-?\d[\d.eE+-]*|true|false|null/g

/** Null for a text that is no JSON object or list. */
export function readJsonText(text: string): JsonText | null {
  if (!/^\s*[{[]/.test(text) || !isJson(text)) return null
  const literals: Literal[] = []
  let [readable, at] = ['', 0]
  for (const { index, 0: source } of text.matchAll(literalPattern)) {
    const isString = source.startsWith('"')
    const value = isString ? String(JSON.parse(source)) : source
    const quote = isString ? '"' : ''
    readable += text.slice(at, index) + quote
    at = index + source.length
    literals.push({ start: index, end: at, readableStart: readable.length, value })
    readable += value + quote
  }
  readable += text.slice(at)
  return { readable, apply: (edits) => applyEdits(text, literals, edits) }
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

/** An edit of several literals leaves its label in the first; the edits are in order and do not overlap. */
function applyEdits(text: string, literals: readonly Literal[], edits: readonly Edit[]): string {
  const labelled = new Set<Edit>()
  let [result, at, next] = ['', 0, 0]
  for (const literal of literals) {
    const readableEnd = literal.readableStart + literal.value.length
    while ((edits[next]?.end ?? Number.POSITIVE_INFINITY) <= literal.readableStart) next++
    let [value, valueAt, isChanged] = ['', 0, false]
    for (let index = next; (edits[index]?.start ?? Number.POSITIVE_INFINITY) < readableEnd; index++) {
      const edit = edits[index]
      if (!edit) break
      value += literal.value.slice(valueAt, Math.max(0, edit.start - literal.readableStart))
      value += labelled.has(edit) ? '' : edit.label
      labelled.add(edit)
      valueAt = Math.min(literal.value.length, edit.end - literal.readableStart)
      isChanged = true
    }
    if (!isChanged) continue
    result += text.slice(at, literal.start) + JSON.stringify(value + literal.value.slice(valueAt))
    at = literal.end
  }
  return result + text.slice(at)
}

/** The text with its edits, which are in order and do not overlap. */
export function applyTextEdits(text: string, edits: readonly Edit[]): string {
  let [result, at] = ['', 0]
  for (const { start, end, label } of edits) {
    result += text.slice(at, start) + label
    at = end
  }
  return result + text.slice(at)
}
