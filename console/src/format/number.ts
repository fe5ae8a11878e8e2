const compact = new Intl.NumberFormat('en-US', { notation: 'compact', maximumFractionDigits: 1 })
const whole = new Intl.NumberFormat('en-US')

/** A number of tokens that a model reads or writes: 131,072 is 128K, as its maker says. */
export function formatContext(tokens: number): string {
  const isBinary = tokens % 1000 !== 0 && tokens % 1024 === 0
  if (!isBinary) return formatCompact(tokens)
  const thousands = tokens / 1024
  return thousands % 1024 === 0 ? `${thousands / 1024}M` : `${thousands}K`
}

/** `12.3K` */
export function formatCompact(count: number): string {
  return compact.format(count)
}

/** `12,345` */
export function formatCount(count: number): string {
  return whole.format(count)
}

/** `120 ms` or `2.5 s` */
export function formatDuration(ms: number): string {
  return ms < 1000 ? `${Math.round(ms)} ms` : `${Math.round(ms / 100) / 10} s`
}

/** `2.5 s`, `4 min 10 s` or `3 h 5 min` */
export function formatSpan(ms: number): string {
  const seconds = Math.round(ms / 1000)
  if (seconds < 60) return formatDuration(ms)
  const minutes = Math.floor(seconds / 60)
  return minutes < 60
    ? `${minutes} min ${seconds % 60} s`
    : `${Math.floor(minutes / 60)} h ${minutes % 60} min`
}

/** `98.5%` of a share between 0 and 1. */
export function formatShare(share: number): string {
  return `${Math.round(share * 1000) / 10}%`
}

const units = ['B', 'KB', 'MB', 'GB', 'TB']

/** `1.5 MB` */
export function formatBytes(bytes: number): string {
  const step = bytes < 1 ? 0 : Math.min(Math.floor(Math.log10(bytes) / 3), units.length - 1)
  return `${Math.round((bytes / 1000 ** step) * 10) / 10} ${units[step]}`
}

/** `1 key` or `1,200 keys` */
export function formatPlural(count: number, noun: string): string {
  return `${formatCount(count)} ${noun}${count === 1 ? '' : 's'}`
}
