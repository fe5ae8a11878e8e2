import type { Series } from './metrics.ts'

/** A metric of a query, with the labels that it selects or groups by. */
export interface Selector {
  name: string
  /** Pairs of a label and the pattern of its value. */
  matchers: { label: string; operator: string; value: string }[]
}

/** The metrics of the gateway that a query of PromQL reads. */
export function readSelectors(query: string): Selector[] {
  return [...query.matchAll(/\b(headgate_[a-z0-9_]+)(?:\{([^}]*)\})?/g)].map(([, name = '', list = '']) => ({
    name,
    matchers: [...list.matchAll(/([a-z_]+)\s*(=~|!=|!~|=)\s*"([^"]*)"/g)].map(
      ([, label = '', operator = '', value = '']) => ({ label, operator, value }),
    ),
  }))
}

/** The labels that a query groups or joins by. */
export function readGroupLabels(query: string): string[] {
  return [...query.matchAll(/\b(?:by|on|group_left)\s*\(([^)]*)\)/g)].flatMap(([, list = '']) =>
    list
      .split(',')
      .map((label) => label.trim())
      .filter((label) => label !== ''),
  )
}

/** Whether a series has what a selector selects. Values of variables of dashboards are any. */
export function matchesSeries({ name, matchers }: Selector, series: Series): boolean {
  if (series.name !== name) return false
  return matchers.every(({ label, operator, value }) => {
    const own = series.labels[label] ?? ''
    if (value.includes('$')) return label in series.labels
    if (operator === '=') return own === value
    if (operator === '!=') return own !== value
    const isMatch = new RegExp(`^(?:${value})$`).test(own)
    return operator === '=~' ? isMatch : !isMatch
  })
}
