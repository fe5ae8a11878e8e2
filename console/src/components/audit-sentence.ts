import type { Schemas } from '../api/client.ts'
import { type FieldChange, formatValue, labelOf, listChanges } from './audit-changes.ts'
import { nounOf, phraseOf } from './audit-vocabulary.ts'

export type Entry = Schemas['AuditEntry']

/** Fields that change with any other. */
const incidental = new Set(['updated_at', 'created_at', 'updated_by'])
/** Changes that a sentence has in full, and the length of their values. */
const maxChanges = 2
const maxValueLength = 80

const actorNouns: Partial<Record<Entry['actor']['type'], string>> = {
  job: 'The server',
  scim: 'SCIM',
  anonymous: 'Somebody who was not signed in',
}

/** Who acted. */
export function nameActor({ type, name, id }: Entry['actor']): string {
  if (type === 'key') return `API key ${name ?? id}`
  if (type === 'command') return name === null ? 'The command line' : `${name} on the command line`
  return name ?? actorNouns[type] ?? id ?? type
}

interface Names {
  workspaceOf: (id: string) => string
}

/** `Ada changed the limit of API key checkout from $5.00 to $10.00.` */
export function describeEntry(entry: Entry, names: Names): string {
  const { action, actor, outcome, changes } = entry
  const who = nameActor(actor)
  const target = nameTarget(entry, names)
  const own = listChanges(changes?.before, changes?.after).filter(({ field }) => !incidental.has(field))
  const refused = outcome === 'refused' && action !== 'operation.refuse'
  const did =
    action.endsWith('.update') && own.length > 0 && !refused
      ? describeUpdate(own, target)
      : phraseOf(action).replace('{}', target)
  return refused ? `${who} was not allowed to do this: ${did}.` : `${who} ${did}.`
}

/** The object with its name; the budget of a workspace is named by its interval. */
function nameTarget({ target, workspace_id }: Entry, { workspaceOf }: Names): string {
  if (target.type === 'budget')
    return `the ${target.name ?? ''} budget${workspace_id === null ? '' : ` of workspace ${workspaceOf(workspace_id)}`}`
  if (target.type === 'operation') return `the operation ${target.id}`
  return `${nounOf(target.type)} ${target.name ?? target.id}`
}

function describeUpdate(changes: FieldChange[], target: string): string {
  const [first] = changes
  if (changes.length === 1 && first && isSwitch(first)) {
    const isOn = first.after === 1 || first.after === true
    return `${isOn === (first.field === 'enabled') ? 'enabled' : 'disabled'} ${target}`
  }
  if (changes.length > maxChanges || changes.some(isLong)) {
    const shown = changes.slice(0, maxChanges).map(({ field }) => labelOf(field))
    const more = changes.length - shown.length
    const fields = more > 0 ? [...shown, `${more} more ${more === 1 ? 'field' : 'fields'}`] : shown
    return `changed ${joinWords(fields)} of ${target}`
  }
  const parts = changes.map(
    ({ field, before, after }, at) =>
      `the ${labelOf(field)}${at === 0 ? ` of ${target}` : ''} ${describeValues(field, before, after)}`,
  )
  return `changed ${joinWords(parts)}`
}

function isSwitch({ field }: FieldChange): boolean {
  return field === 'disabled' || field === 'enabled'
}

function isLong({ field, before, after }: FieldChange): boolean {
  return [before, after].some((value) => formatValue(value, field).length > maxValueLength)
}

function describeValues(field: string, before: unknown, after: unknown): string {
  const isEmpty = (value: unknown) => value === null || value === undefined || value === ''
  if (isEmpty(before)) return `to ${formatValue(after, field)}`
  if (isEmpty(after)) return `from ${formatValue(before, field)} to none`
  return `from ${formatValue(before, field)} to ${formatValue(after, field)}`
}

function joinWords(words: string[]): string {
  return words.length < 2 ? words.join('') : `${words.slice(0, -1).join(', ')} and ${words.at(-1)}`
}
