import type { JsonObject } from '../../platform/json/json-values.ts'
import { getKind, kinds } from './all.ts'
import { isCovered } from './compare.ts'
import type { ConfigurationDocument } from './documents.ts'
import { type FieldsOf, secretPathsOf, valueAt, withValueAt } from './fields.ts'
import type { Item, Kind } from './kind.ts'
import { isSameSecret, resolveSecrets, variableOf } from './secrets.ts'
import { defaultWorkspace, identityOf, type Ownership, type State, UnknownNameError } from './state.ts'
import type { FieldChange, Plan, PlanOptions, Step } from './step.ts'
import { validateStep } from './validate.ts'

/** Compares documents with the records of a server. */
export function buildPlan(
  documents: readonly ConfigurationDocument[],
  state: State,
  fieldsOf: FieldsOf,
  options: PlanOptions,
): Plan {
  const steps = documents.map((document) => startStep(document, state, options))
  const problems = findDuplicates(steps)
  for (const { action, kind, name, workspace } of steps)
    if (action === 'create') state.expect(kind, name, workspace)
  for (const step of steps) {
    try {
      problems.push(...completeStep(step, state, fieldsOf, options))
    } catch (error) {
      if (!(error instanceof UnknownNameError)) throw error
      problems.push(`${step.document?.locate()}: ${error.message}.`)
    }
  }
  const declared = new Set(steps.map(({ kind, identity }) => `${kind.kind} ${identity}`))
  const left = state
    .ownedBy(options.set)
    .filter(({ kind, name }) => !declared.has(`${kind} ${name}`))
    .map((ownership) => toDeletion(ownership, state))
  const order = new Map(kinds.map((kind, index) => [kind, index]))
  const sorted = steps.sort((a, b) => (order.get(a.kind) ?? 0) - (order.get(b.kind) ?? 0))
  left.sort((a, b) => (order.get(b.kind) ?? 0) - (order.get(a.kind) ?? 0))
  return { set: options.set, steps: sortAliases(sorted), left, problems }
}

function findDuplicates(steps: readonly Step[]): string[] {
  const seen = new Map<string, Step>()
  return steps.flatMap((step) => {
    const key = `${step.kind.kind} ${step.identity}`
    const first = seen.get(key)
    seen.set(key, first ?? step)
    const place = step.document?.locate(['name'])
    return first
      ? [
          `${place}: ${step.kind.kind} "${step.name}" is declared twice, first at ${first.document?.locate(['name'])}.`,
        ]
      : []
  })
}

function startStep(document: ConfigurationDocument, state: State, { environment }: PlanOptions): Step {
  const kind = getKind(document.kind)
  const name = document.kind === 'Member' ? document.name.toLowerCase() : document.name
  const workspace =
    kind.place === 'organization'
      ? null
      : (document.workspace ?? (kind.place === 'workspace' ? defaultWorkspace : null))
  const identity = identityOf(kind, name, workspace)
  const item = state.findItem(kind, identity) ?? null
  return {
    action: item ? 'keep' : 'create',
    ...{ kind, name, workspace, identity, document, item },
    resolved: resolveSecrets(document.spec, environment),
    changes: [],
    ownership: item ? state.ownershipOf(kind.kind, item.id) : undefined,
  }
}

function completeStep(step: Step, state: State, fieldsOf: FieldsOf, options: PlanOptions): string[] {
  const { kind, document, item, ownership, name } = step
  if (!document) return []
  const label = `${kind.kind} "${name}"`
  if (document.workspace !== undefined && kind.place === 'organization')
    return [`${document.locate(['workspace'])}: ${label} is not in a workspace.`]
  if (step.workspace !== null) state.idOf('Workspace', step.workspace, null)
  if (!item && kind.isPermanent && !kind.save)
    return [`${document.locate(['name'])}: ${label} does not exist. ${describeNames(kind, state)}`]
  if (ownership && ownership.set !== options.set && !options.takeOver)
    return [
      `${document.locate()}: the set "${ownership.set}" declares ${label}. Use --take-over to declare it in "${options.set}".`,
    ]
  const problems = findFieldProblems(step, fieldsOf(kind).names)
  if (problems.length > 0) return problems
  if (item) compareFields(step, item, fieldsOf)
  return validateStep(step, state, fieldsOf(kind), options)
}

function describeNames(kind: Kind, state: State): string {
  return `Names of this kind: ${state
    .records(kind.kind)
    .map((item) => item.name)
    .join(', ')}.`
}

function findFieldProblems({ kind, document, item, resolved }: Step, names: readonly string[]): string[] {
  if (!document) return []
  const unknown = Object.keys(document.spec).filter((field) => !names.includes(field))
  const secrets = secretPathsOf(kind, { ...item?.spec, ...document.spec }).filter((path) => {
    const value = valueAt(document.spec, path)
    return typeof value === 'string' && variableOf(value) === null
  })
  const listed = [...(resolved?.secrets.keys() ?? [])].filter((path) => /\.\d+(?:\.|$)/.test(path))
  const own = [...(resolved?.secrets ?? [])].filter(([, { variable }]) => variable.startsWith('HEADGATE_'))
  return [
    ...own.map(
      ([path, { variable }]) =>
        `${document.locate(['spec', ...path.split('.')])}: spec.${path}: ${variable} is of Headgate itself; a record cannot have it.`,
    ),
    ...listed.map(
      (path) =>
        `${document.locate(['spec', ...path.split('.')])}: spec.${path}: a list cannot have references to variables.`,
    ),
    ...unknown.map(
      (field) =>
        `${document.locate(['spec', field])}: spec.${field}: is no field of ${kind.kind}. Its fields: ${names.join(', ')}.`,
    ),
    ...secrets.map(
      (path) =>
        `${document.locate(['spec', ...path.split('.')])}: spec.${path}: is a secret; write a reference such as \${env:NAME} instead.`,
    ),
  ]
}

function compareFields(step: Step, item: Item, fieldsOf: FieldsOf): void {
  const { kind, document, resolved, ownership } = step
  if (!document || !resolved) return
  const secretPaths = [...resolved.secrets.keys()]
  const withoutSecrets = (spec: JsonObject) =>
    secretPaths.reduce((rest, path) => withValueAt(rest, path, undefined), spec)
  const [wanted, current] = [withoutSecrets(resolved.spec), withoutSecrets(item.spec)]
  const changes: FieldChange[] = Object.keys(wanted)
    .filter((field) => !isCovered(wanted[field], current[field], kind.isOrdered === true))
    .map((field) => ({ field, before: current[field] ?? null, after: wanted[field] }))
  for (const [path, { value }] of resolved.secrets)
    if (value !== null && !isSameSecret(value, ownership?.secrets[path]))
      changes.push({ field: path, isSecret: true })
  step.changes = changes
  if (changes.length > 0) step.action = 'update'
  const { updatable, parts } = fieldsOf(kind)
  const fixed = changes.filter(({ field }) => !isUpdatable(kind, field, updatable, parts.shape))
  if (fixed.length > 0) step.action = 'replace'
}

function isUpdatable(
  { references }: Kind,
  path: string,
  updatable: ReadonlySet<string>,
  parts: Record<string, unknown>,
): boolean {
  const field = path.split('.')[0] ?? ''
  const apiField = references.find((one) => one.field === field)?.apiField ?? field
  return updatable.has(apiField) || field in parts
}

function toDeletion(ownership: Ownership, state: State): Step {
  const kind = getKind(ownership.kind)
  const item = state.records(ownership.kind).find(({ id }) => id === ownership.id) ?? null
  return {
    action: item && kind.remove !== null ? 'delete' : 'keep',
    ...{ kind, item, ownership, identity: ownership.name, document: null, resolved: null, changes: [] },
    name: item?.name ?? ownership.name,
    workspace: item?.workspace ?? null,
  }
}

/** An alias that names another one comes after it. */
function sortAliases(steps: readonly Step[]): Step[] {
  const aliases = new Map(
    steps.filter(({ kind }) => kind.kind === 'ModelAlias').map((step) => [step.name, step]),
  )
  const sorted = new Set<Step>()
  const visit = (step: Step, path: ReadonlySet<Step>) => {
    if (sorted.has(step) || path.has(step)) return
    const text = JSON.stringify(step.kind.kind === 'ModelAlias' ? step.document?.spec : null)
    for (const [name, other] of aliases)
      if (other !== step && text.includes(JSON.stringify(name))) visit(other, new Set([...path, step]))
    sorted.add(step)
  }
  for (const step of steps) visit(step, new Set())
  return [...sorted]
}
