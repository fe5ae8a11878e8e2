/** A line of `GET /metrics`. */
export interface Series {
  name: string
  labels: Record<string, string>
  value: number
}

/** Reads the text format of Prometheus. */
export function readSeries(text: string): Series[] {
  return text
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => {
      const [, name = '', list = '', value = ''] = /^([a-z0-9_]+)(?:\{(.*)\})? (\S+)$/.exec(line) ?? []
      if (name === '') throw new Error(`Not a series: ${line}`)
      const labels = [...list.matchAll(/([a-z_]+)="((?:[^"\\]|\\.)*)"/g)].map(([, label = '', text = '']) => [
        label,
        text,
      ])
      return { name, labels: Object.fromEntries(labels), value: value === '+Inf' ? Infinity : Number(value) }
    })
}
