/** The API takes no more at a time. */
const maxIds = 100

/** The ids as the parameter `ids` of lists takes them: each once, in the same order for the same ids. */
export function listIds(ids: Iterable<string>): string[] {
  const all = [...new Set(ids)].sort()
  const count = Math.ceil(all.length / maxIds)
  return Array.from({ length: count }, (_, index) =>
    all.slice(index * maxIds, (index + 1) * maxIds).join(','),
  )
}
