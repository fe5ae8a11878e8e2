import type { Outcome } from './apply.ts'
import { defaultWorkspace } from './state.ts'
import type { FieldChange, Plan, Step } from './step.ts'

const signs = { create: '+', update: '~', replace: '±', delete: '-', keep: ' ' } as const

/** Steps that change records. Without pruning, what the files do not have any more stays. */
function changesOf(plan: Plan, prune: boolean): Step[] {
  const steps = prune ? [...plan.steps, ...plan.left] : plan.steps
  return steps.filter(({ action }) => action !== 'keep')
}

export function countChanges(plan: Plan, prune: boolean): number {
  return changesOf(plan, prune).length
}

function labelOf({ kind, name, workspace }: Step): string {
  const place = workspace === null || workspace === defaultWorkspace ? '' : ` in ${workspace}`
  return `${kind.kind} "${name}"${place}`
}

function describeChange({ field, before, after, isSecret }: FieldChange): string {
  if (isSecret) return `    ${field}: (secret)`
  return `    ${field}: ${shorten(before)} -> ${shorten(after)}`
}

const maxShown = 200

function shorten(value: unknown): string {
  const text = JSON.stringify(value) ?? 'null'
  return text.length > maxShown ? `${text.slice(0, maxShown)}…` : text
}

function describeStep(step: Step): string[] {
  return [`${signs[step.action]} ${labelOf(step)}`, ...step.changes.map(describeChange)]
}

export function describePlan(plan: Plan, prune: boolean) {
  const changes = changesOf(plan, prune)
  const remaining = prune ? [] : plan.left.filter(({ action }) => action === 'delete')
  const lines = [
    ...changes.flatMap(describeStep),
    ...remaining.map((step) => `  ${labelOf(step)} is not in the files any more. --prune deletes it.`),
    summarize(changes),
  ]
  return { value: toPlanValue(plan, prune), text: lines.join('\n') }
}

function summarize(steps: readonly Step[]): string {
  const count = (...actions: Step['action'][]) =>
    steps.filter(({ action }) => actions.includes(action)).length
  if (steps.length === 0) return 'No differences.'
  const parts = [
    `${count('create')} to create`,
    `${count('update')} to update`,
    `${count('replace')} to replace`,
    `${count('delete')} to delete`,
  ]
  return `${parts.join(', ')}.`
}

export function toPlanValue(plan: Plan, prune: boolean) {
  return {
    set: plan.set,
    changes: changesOf(plan, prune).map(({ action, kind, name, workspace, changes }) => ({
      ...{ action, kind: kind.kind, name, workspace },
      fields: changes.map(({ field, before, after, isSecret }) =>
        isSecret ? { field, secret: true } : { field, before, after },
      ),
    })),
    left: plan.left
      .filter(({ action }) => action === 'delete')
      .map(({ kind, name, workspace }) => ({ kind: kind.kind, name, workspace })),
  }
}

export function describeOutcome({ done, failed, left }: Outcome) {
  const changed = done.filter(({ action }) => action !== 'keep')
  const noted = done.length - changed.length
  const lines = [
    ...changed.map((step) => `${signs[step.action]} ${labelOf(step)}`),
    ...(noted > 0 ? [`${noted} existing records now belong to the set.`] : []),
    ...(failed
      ? [
          `Failed: ${failed.message}`,
          `${changed.length} changes are done, ${left} documents were not reached. Apply again to continue.`,
        ]
      : [changed.length === 0 ? 'No changes.' : `${changed.length} changes are done.`]),
  ]
  return {
    value: { done: changed.length, noted, failed: failed?.message ?? null },
    text: lines.join('\n'),
    ...(failed && { exitCode: 1 }),
  }
}
