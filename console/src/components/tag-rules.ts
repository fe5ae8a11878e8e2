/** `name=value` for each tag. */
export function formatSetTags(tags: Record<string, string>): string[] {
  return Object.entries(tags).map(([name, value]) => `${name}=${value}`)
}

/** The later of two values wins; text without a value is left out. */
export function readSetTags(tags: readonly string[]): Record<string, string> {
  const pairs = tags.map((tag) => {
    const at = tag.indexOf('=')
    return [tag.slice(0, Math.max(at, 0)).trim(), tag.slice(at + 1).trim()] as const
  })
  return Object.fromEntries(pairs.filter(([name, value]) => name !== '' && value !== ''))
}
