import type { Schemas } from '../../api/client.ts'
import { windowTexts } from '../../components/limit-window.ts'
import { type Measure, measureNames } from '../../format/measure.ts'
import { formatMoney } from '../../format/money.ts'
import { formatCount } from '../../format/number.ts'

export type Limit = Schemas['Limit']

const dimensionNames: Record<string, string> = {
  workspace: 'workspace',
  member: 'member',
  key: 'key',
  end_user: 'end user',
  model: 'model',
  provider: 'provider',
}

export const dimensionOptions = Object.entries(dimensionNames).map(([value, name]) => ({
  value,
  label: `${name.charAt(0).toUpperCase()}${name.slice(1)}`,
}))

export function formatAmount(measure: Measure, amount: number): string {
  return measure === 'usd' ? formatMoney(amount) : formatCount(amount)
}

/** `60 requests a minute` */
export function describeAmount({
  measure,
  amount,
  window,
}: Pick<Limit, 'measure' | 'amount' | 'window'>): string {
  const noun = measure === 'usd' ? '' : ` ${measureNames[measure].toLowerCase()}`
  return `${formatAmount(measure, amount)}${noun}${window === null ? '' : ` ${windowTexts[window].each}`}`
}

interface Names {
  workspaceOf: (id: string) => string
  memberOf: (id: string) => string
}

/** What a limit matches, without its key: `workspace Research`, `models openai/*`. */
export function describeMatch(match: Limit['match'], { workspaceOf, memberOf }: Names): string[] {
  const { workspace_id, user_id, tier, guardrail_id, end_user, tags, models, providers } = match
  return [
    ...(workspace_id === null ? [] : [`workspace ${workspaceOf(workspace_id)}`]),
    ...(user_id === null ? [] : [`member ${memberOf(user_id)}`]),
    ...(tier === null ? [] : [`tier ${tier}`]),
    ...(guardrail_id === null ? [] : ['keys and members of the guardrail']),
    ...(end_user === null ? [] : [`end user ${end_user}`]),
    ...describeList('tag', tags),
    ...describeList('model', models),
    ...describeList('provider', providers),
  ]
}

function describeList(noun: string, values: string[]): string[] {
  if (values.length === 0) return []
  return [`${noun}${values.length === 1 ? '' : 's'} ${values.join(', ')}`]
}

/** `Separately for each end user and model`; null if everything is counted together. */
export function describePer(per: string[]): string | null {
  if (per.length === 0) return null
  return `Separately for each ${per.map(nameDimension).join(' and ')}`
}

/** Dimensions whose values are ids. */
const idDimensions = new Set(['workspace', 'member', 'key'])

/** The one of several counts, as far as its values can be read: `ada, openai/gpt-5`; or `highest key`. */
export function describeCounter(counter: Record<string, string>): string {
  const entries = Object.entries(counter)
  const readable = entries.filter(([dimension, value]) => !idDimensions.has(dimension) && value !== '')
  if (readable.length > 0) return readable.map(([, value]) => value).join(', ')
  return entries.length === 0
    ? ''
    : `highest ${entries.map(([dimension]) => nameDimension(dimension)).join(' and ')}`
}

/** A tag is counted by its values: `tag:project`. */
function nameDimension(dimension: string): string {
  return dimensionNames[dimension] ?? dimension.replace(/^tag:/, 'tag ')
}
