/**
 * Finds the path of a string in a JSON value, as `messages.0.content`; undefined if absent. For error messages only.
 */
export function findStringPath(value: unknown, text: string, maxDepth = 12): string | undefined {
  if (typeof value !== 'object' || value === null || maxDepth === 0) return undefined
  for (const [name, inner] of Object.entries(value)) {
    if (inner === text) return name
    const path = findStringPath(inner, text, maxDepth - 1)
    if (path !== undefined) return `${name}.${path}`
  }
  return undefined
}
