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

/** A string by its first quotation mark: a pattern for all of it would be slow for long ones. */
const literalPattern = /"|-?\d[\d.eE+-]*|true|false|null/g

/** Null for a text that is no JSON object or list. */
export function readJsonText(text: string): JsonText | null {
  if (!/^\s*[{[]/.test(text) || !isJson(text)) return null
  const literals: Literal[] = []
  const pieces: string[] = []
  let [at, readableLength] = [0, 0]
  const add = (piece: string) => {
    pieces.push(piece)
    readableLength += piece.length
  }
  literalPattern.lastIndex = 0
  for (let match = literalPattern.exec(text); match; match = literalPattern.exec(text)) {
    const { index: start, 0: source } = match
    const isString = source === '"'
    const end = isString ? findStringEnd(text, start) : start + source.length
    literalPattern.lastIndex = end
    const value = isString ? decodeString(text.slice(start, end)) : source
    add(text.slice(at, isString ? start + 1 : start))
    literals.push({ start, end, readableStart: readableLength, value })
    add(value)
    at = isString ? end - 1 : end
  }
  add(text.slice(at))
  return { readable: pieces.join(''), apply: (edits) => applyEdits(text, literals, edits) }
}

/** Behind the quotation mark that ends a string of a valid text: the next one without an odd number of backslashes. */
function findStringEnd(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); ; end = text.indexOf('"', end + 1)) {
    let before = end - 1
    while (text.charAt(before) === '\\') before--
    if ((end - before) % 2 === 1) return end + 1
  }
}

function decodeString(source: string): string {
  return source.includes('\\') ? String(JSON.parse(source)) : source.slice(1, -1)
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
  const parts: string[] = []
  let [at, next] = [0, 0]
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
    parts.push(text.slice(at, literal.start), JSON.stringify(value + literal.value.slice(valueAt)))
    at = literal.end
  }
  parts.push(text.slice(at))
  return parts.join('')
}

/** The text with its edits, which are in order and do not overlap. */
export function applyTextEdits(text: string, edits: readonly Edit[]): string {
  // Joined at once: a string that grows by many small ones takes many times its length.
  const parts: string[] = []
  let at = 0
  for (const { start, end, label } of edits) {
    parts.push(text.slice(at, start), label)
    at = end
  }
  parts.push(text.slice(at))
  return parts.join('')
}
