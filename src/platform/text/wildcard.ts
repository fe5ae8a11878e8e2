/** Whether a text matches a pattern, in which `*` stands for any characters. Case is ignored. */
export function matchesPattern(text: string, pattern: string): boolean {
  const parts = pattern.toLowerCase().split('*')
  const lower = text.toLowerCase()
  const [first = '', ...others] = parts
  const last = others.pop()
  if (last === undefined) return lower === first
  if (!lower.startsWith(first)) return false
  let at = first.length
  for (const part of others) {
    const found = lower.indexOf(part, at)
    if (found === -1) return false
    at = found + part.length
  }
  return lower.length - last.length >= at && lower.endsWith(last)
}

/** The same for `like` with the escape character `\`. */
export function toLikePattern(pattern: string): string {
  return pattern.replace(/[\\%_]/g, '\\$&').replaceAll('*', '%')
}
