/** A string in double quotes; an unfinished one ends with the text. */
const quotedString = /"(?:[^"\\]|\\[\s\S])*(?:"|$)/g
const validEscape = /\\(?:u[0-9a-fA-F]{4}|["\\/bfnrt])/g

/**
 * Text with two faults corrected that a lenient parser would hide by changing values: semicolons between members, and
 * backslashes that were not escaped, as in paths, patterns and formulas.
 */
export function normalizeFaults(text: string): string {
  let normalized = ''
  let end = 0
  for (const { 0: string, index } of text.matchAll(quotedString)) {
    normalized += separateByCommas(text.slice(end, index)) + escapeBackslashes(string)
    end = index + string.length
  }
  return normalized + separateByCommas(text.slice(end))
}

function separateByCommas(syntax: string): string {
  return syntax.replace(/;(?=\s*$)|;(?=\s*[\w'{[])/g, ',').replace(/;(?=\s*[}\]])/g, '')
}

/** If one escape is invalid, the others were not meant as escapes either, except those of quotes and backslashes. */
function escapeBackslashes(string: string): string {
  if (!string.replace(validEscape, '').includes('\\')) return string
  return string.replace(/\\(["\\])|\\/g, (match, escaped?: string) => (escaped ? match : '\\\\'))
}

const quote = `["'\`“”‘’«»„]`
const plainWord = /^[\p{L}_$][\p{L}\p{N}_$ .\-/]*$/u
const dateOrVersion = /^(?:\d{4}-\d{2}-\d{2}(?:[T ][\d:.+Z-]+)?|\d+(?:\.\d+){2,})$/
const notNumbers = new Set(['NaN', 'Infinity', '-Infinity', 'undefined'])

/** Whether no value was changed: what was not a text in the source is one only if it is a word, a date or a version. */
export function keepsValues(source: string, value: unknown): boolean {
  if (typeof value === 'string') return isFaithfulText(source, value)
  if (typeof value === 'number') return source.includes(String(value)) || hasNumber(source, value)
  if (typeof value !== 'object' || value === null) return true
  if (Array.isArray(value)) return value.every((item) => keepsValues(source, item))
  return Object.entries(value).every(
    ([name, item]) => isFaithfulText(source, name) && keepsValues(source, item),
  )
}

function isFaithfulText(source: string, text: string): boolean {
  if (text === '' || isQuoted(source, text)) return true
  return !notNumbers.has(text) && (plainWord.test(text) || dateOrVersion.test(text))
}

/** Its beginning is enough: a text that was cut off or contains quotes ends elsewhere. */
function isQuoted(source: string, text: string): boolean {
  const [head = ''] = /^[^"'\\\p{Cc}]{0,24}/u.exec(text) ?? []
  if (head === '') return true
  const pattern = new RegExp(quote + head.replace(/[.*+?^${}()|[\]\\/]/g, '\\$&'), 'u')
  return pattern.test(source)
}

/** A number may be written in another way, such as 1.0 or 1e3. */
function hasNumber(source: string, value: number): boolean {
  for (const [text] of source.matchAll(/-?\d+(?:\.\d*)?(?:[eE][+-]?\d+)?|-?\.\d+/g))
    if (Number(text) === value) return true
  return false
}
