const dayPattern = String.raw`(20[2-3]\d)-?(0[1-9]|1[0-2])-?([0-3]\d)`

/**
 * The release date of a model, in seconds since 1970, from its names: the earliest day in any provider's name for it,
 * else the month in the author's numbering (`-2512`, `-08-2024`), else unknown.
 */
export function findReleaseDate(id: string, upstreams: string[], knownNames: string[]): number | undefined {
  const names = [id.slice(id.indexOf('/') + 1), ...upstreams].map((name) => name.replace(/-0$/, ''))
  const days = names.flatMap((name) => [
    ...findDay(name),
    ...knownNames.flatMap((known) => findDayAfter(known, name)),
  ])
  const earliest = days.toSorted()[0] ?? names.flatMap(findMonth)[0]
  return earliest === undefined ? undefined : Date.parse(`${earliest}T00:00:00Z`) / 1000
}

function findDay(name: string): string[] {
  return toDay(new RegExp(`[-@]${dayPattern}(?!\\d)`).exec(name))
}

/** `claude-sonnet-4-5` in `global.anthropic.claude-sonnet-4-5-20250929-v1:0`. */
function findDayAfter(known: string, name: string): string[] {
  const at = known.lastIndexOf(name)
  const bounded = at === 0 || known[at - 1] === '.' || known[at - 1] === '/'
  return at >= 0 && bounded
    ? toDay(new RegExp(`^[-@]${dayPattern}(?!\\d)`).exec(known.slice(at + name.length)))
    : []
}

function toDay(match: RegExpExecArray | null): string[] {
  if (!match) return []
  const text = `${match[1]}-${match[2]}-${match[3]}`
  return Number.isNaN(Date.parse(text)) ? [] : [text]
}

function findMonth(name: string): string[] {
  const yearMonth = /-(2[3-9])(0[1-9]|1[0-2])$/.exec(name)
  if (yearMonth) return [`20${yearMonth[1]}-${yearMonth[2]}-01`]
  const monthYear = /-(0[1-9]|1[0-2])-(20[2-3]\d)$/.exec(name)
  return monthYear ? [`${monthYear[2]}-${monthYear[1]}-01`] : []
}
