const markup = '<img src=x onerror=alert(1)><script>alert(2)</script><svg onload=alert(3)>'
const markdown = '# h\n\n**b** [l](javascript:alert(4)) ![i](https://other.example/i.png)\n\n```\n</pre>\n```'
const rightToLeft = '\u202Etxet\u202C'

/** Texts that clients may send at any length. */
const longFields = new Set(['content', 'input', 'prompt', 'instructions', 'description'])

/**
 * Markup, markdown, links that run a script, text from right to left, and words that do not break, as long as the
 * field allows.
 */
export function makeHostileText(word: string, field: string): string {
  if (longFields.has(field)) return `${word} ${markup} ${markdown} ${rightToLeft} ${'W'.repeat(900)}`
  // Some characters are refused in the names of files.
  if (field === 'file') return `${word} &lt;img&gt; [l](javascript) ${rightToLeft} ${'W'.repeat(60)}`
  return `${word} <img src=x onerror=alert(1)>[l](javascript:alert(2))${rightToLeft} `.padEnd(95, 'W')
}
