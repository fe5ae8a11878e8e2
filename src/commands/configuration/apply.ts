import { asObject, asString, type JsonObject } from '../../platform/json/json-values.ts'
import { ApiError } from './client.ts'
import type { FieldsOf, KindFields } from './fields.ts'
import type { Item } from './kind.ts'
import { hashSecret, isSameSecret } from './secrets.ts'
import { defaultWorkspace, type State } from './state.ts'
import type { Plan, Step } from './step.ts'
import { documentField } from './translate.ts'
import { fieldsOfStep, splitCreation, toCreateBody } from './validate.ts'

/** A secret that the server has shown once. */
export interface NewSecret {
  kind: string
  name: string
  workspace: string | null
  secret: string
}

export interface Outcome {
  done: Step[]
  /** Null if everything was done. */
  failed: { step: Step; message: string } | null
  left: number
}

/** Makes the changes of a plan, one after the other, and stops at the first that fails. */
export async function applyPlan(
  plan: Plan,
  state: State,
  fieldsOf: FieldsOf,
  options: { prune: boolean; keepSecret: (secret: NewSecret) => Promise<void> },
): Promise<Outcome> {
  const removals = options.prune ? plan.left : plan.left.filter(({ item }) => item === null)
  const steps = [...plan.steps, ...removals]
  const done: Step[] = []
  for (const [index, step] of steps.entries()) {
    try {
      if (await runStep(step, plan.set, state, fieldsOf, options.keepSecret)) done.push(step)
    } catch (error) {
      if (!(error instanceof ApiError)) throw error
      const message = describeFailure(step, error)
      return { done, failed: { step, message }, left: steps.length - index - 1 }
    }
  }
  return { done, failed: null, left: 0 }
}

/** Whether anything was changed. */
async function runStep(
  step: Step,
  set: string,
  state: State,
  fieldsOf: FieldsOf,
  keepSecret: (secret: NewSecret) => Promise<void>,
): Promise<boolean> {
  const { kind, item, ownership } = step
  if (!step.document) return removeRecord(step, state)
  if (step.action === 'replace' && item) await deleteItem(step, item, state)
  const isNew = step.action === 'create' || step.action === 'replace'
  const current = isNew ? null : item
  const { own, parts } = fieldsOfStep(step, state, fieldsOf(kind))
  const saved: Saved =
    isNew || Object.keys(own).length > 0
      ? await saveRecord(step, current, own, { state, fields: fieldsOf(kind) })
      : { id: item?.id ?? '', reply: {} }
  const record = { ...item?.record, ...saved.record }
  const now: Item = {
    ...{ kind: kind.kind, id: saved.id, name: step.name, workspace: step.workspace, record },
    spec: current?.spec ?? {},
  }
  state.add(now)
  const secret = isNew && kind.returnsSecret ? asString(saved.reply.key ?? saved.reply.url) : undefined
  if (secret !== undefined)
    await keepSecret({ kind: kind.kind, name: step.name, workspace: step.workspace, secret })
  for (const part of kind.parts) {
    const changed = Object.fromEntries(Object.entries(parts).filter(([field]) => field in part.fields))
    if (Object.keys(changed).length > 0) await part.write(state, now, changed)
  }
  const isNoted = await noteOwnership(step, saved.id, set, state)
  return step.action !== 'keep' || (isNoted && ownership?.set !== set)
}

interface Saved {
  id: string
  reply: JsonObject
  record?: JsonObject
}

async function saveRecord(
  step: Step,
  current: Item | null,
  own: JsonObject,
  { state, fields }: { state: State; fields: KindFields },
): Promise<Saved> {
  const { kind, name, workspace } = step
  if (kind.save) {
    const id = await kind.save(state, { name, workspace, id: current?.id ?? null }, own)
    return { id, reply: {} }
  }
  if (current) {
    const path = kind.isPermanent && current.id === 'organization' ? kind.path : pathOf(step, current.id)
    const reply = await state.api.call(kind.kind === 'DefaultPlugins' ? 'PUT' : 'PATCH', path, own)
    return { id: current.id, reply, record: asObject(reply.data) ?? {} }
  }
  const { first, later } = splitCreation(own, fields)
  const reply = await state.api.call('POST', kind.path, toCreateBody(step, first, state))
  const record = asObject(reply.data) ?? {}
  const id = String(record[kind.idField])
  if (Object.keys(later).length > 0) await state.api.call('PATCH', pathOf(step, id), later)
  return { id, reply, record }
}

function pathOf({ kind }: Pick<Step, 'kind'>, id: string): string {
  // The id of a model has a slash, which is part of the path.
  return `${kind.path}/${kind.kind === 'Model' ? id : encodeURIComponent(id)}`
}

async function deleteItem(step: Step, item: Item, state: State): Promise<void> {
  await state.api.call('DELETE', pathOf(step, item.id))
  state.remove(item)
}

async function removeRecord(step: Step, state: State): Promise<boolean> {
  const { action, item, ownership } = step
  if (action === 'delete' && item) {
    for (const tag of Object.keys(asObject(item.spec.endpoint_edits) ?? {}))
      await state.api.call('DELETE', `${pathOf(step, item.id)}/endpoints/${encodeURIComponent(tag)}`)
    const isEndpointsOnly = step.kind.kind === 'Model' && item.record.edit === null
    if (!isEndpointsOnly) await deleteItem(step, item, state)
  }
  if (!ownership) return action === 'delete'
  const query = new URLSearchParams({ kind: ownership.kind, id: ownership.id })
  try {
    await state.api.call('DELETE', `/configuration/records?${query}`)
  } catch (error) {
    // The deletion of the record has done it.
    if (!(error instanceof ApiError) || error.status !== 404) throw error
  }
  return action === 'delete'
}

/** Notes what the set declares of a record, if the server does not know it yet. */
async function noteOwnership(step: Step, id: string, set: string, state: State): Promise<boolean> {
  const { kind, document, resolved, ownership, identity } = step
  const fields = Object.keys(document?.spec ?? {}).sort()
  const secrets: Record<string, string> = {}
  for (const [path, { value }] of resolved?.secrets ?? []) {
    const stored = ownership?.secrets[path]
    if (value === null) {
      if (stored !== undefined) secrets[path] = stored
    } else secrets[path] = stored !== undefined && isSameSecret(value, stored) ? stored : hashSecret(value)
  }
  const noted = { kind: kind.kind, id, name: identity, set, fields, secrets }
  const known = ownership && {
    ...{ kind: ownership.kind, id: ownership.id, name: ownership.name, set: ownership.set },
    ...{ fields: ownership.fields, secrets: ownership.secrets },
  }
  if (known && Bun.deepEquals(known, noted)) return false
  await state.api.call('PUT', '/configuration/records', { ...noted, take_over: true })
  return true
}

/** The error of the API, with the file and line of the field that it names. */
function describeFailure({ kind, document, name, workspace }: Step, { message }: ApiError): string {
  const place = workspace === null || workspace === defaultWorkspace ? '' : ` in ${workspace}`
  const label = `${kind.kind} "${name}"${place}`
  if (!document) return `${label}: ${message}`
  const [, path, text] = /^([a-z_]\w*(?:\.\w+)*): (.*)$/s.exec(message) ?? []
  if (path === undefined) return `${document.locate()}: ${label}: ${message}`
  const [first = '', ...rest] = path.split('.')
  const field = ['spec', documentField(kind, first), ...rest]
  const at = first === kind.nameField ? ['name'] : field
  return `${document.locate(at)}: ${label}: ${at.join('.')}: ${text}`
}
