/** A string in double quotes; an unfinished one ends with the text. */
const quotedString = /"(?:[^"\\]|\\[\s\S])*(?:"|$)/g
const validEscape = /\\(?:u[0-9a-fA-F]{4}|["\\/bfnrt])/g
/** Escapes from other languages: an apostrophe or a typographic quote, which needs none in JSON. */
const needlessEscape = /\\(['“”‘’«»„])/g

/**
 * Text with faults corrected that a lenient parser would hide by changing values: semicolons between members, comments,
 * literals in capitals, and backslashes that were not escaped, as in paths, patterns and formulas.
 */
export function normalizeFaults(text: string): string {
  let normalized = ''
  let end = 0
  for (const { 0: string, index } of text.matchAll(quotedString)) {
    normalized += normalizeSyntax(text.slice(end, index)) + escapeBackslashes(string)
    end = index + string.length
  }
  return normalized + normalizeSyntax(text.slice(end))
}

function normalizeSyntax(syntax: string): string {
  return separateByCommas(lowerLiterals(removeComments(syntax)))
}

/** Only a comment to the end of its line, without what may be syntax behind a shorter one. */
function removeComments(syntax: string): string {
  return syntax.includes('/') || syntax.includes('#')
    ? syntax.replace(/(^|[\s,{}[\]])(?:\/\/|#)[^\n"{}[\]]*(?=\n)/g, '$1').replace(/\/\*[\s\S]*?\*\//g, '')
    : syntax
}

const literals: Readonly<Record<string, string>> = { none: 'null' }

/** `True`, `FALSE`, `Null` and `None` where a value is expected. */
function lowerLiterals(syntax: string): string {
  return syntax.replace(
    /(^|[[,:]\s*)(true|false|null|none)(?=\s*(?:[,;}\]]|$))/gi,
    (_, before: string, word: string) => before + (literals[word.toLowerCase()] ?? word.toLowerCase()),
  )
}

function separateByCommas(syntax: string): string {
  return syntax.replace(/;(?=\s*$)|;(?=\s*[\w'{[])/g, ',').replace(/;(?=\s*[}\]])/g, '')
}

/** Doubles backslashes if one escape is invalid: the others were not meant as escapes either, except `\"` and `\\`. */
function escapeBackslashes(string: string): string {
  if (!string.replace(validEscape, '').includes('\\')) return string
  const unescaped = string.replace(needlessEscape, '$1')
  if (!unescaped.replace(validEscape, '').includes('\\')) return unescaped
  return string.replace(/\\(["\\])|\\/g, (match, escaped?: string) => (escaped ? match : '\\\\'))
}
