import { randomId } from '@mantine/hooks'
import type { paths } from '../../api/schema.ts'
import { readUtcDay } from '../../format/utc-day.ts'
import type { Alias } from './shares.ts'

type CreateBody = paths['/model-aliases']['post']['requestBody']['content']['application/json']
type UpdateBody = NonNullable<
  paths['/model-aliases/{id}']['patch']['requestBody']
>['content']['application/json']

export interface TargetDraft {
  /** Tells rows apart in the form. */
  row: string
  model: string
  weight: number | null
  /** Empty: the default tag. */
  tag: string
}

export interface AliasDraft {
  name: string
  /** Null: every workspace. */
  workspaceId: string | null
  kind: 'order' | 'weights'
  /** In the order they are tried. */
  models: string[]
  targets: TargetDraft[]
  splitBy: NonNullable<Alias['split_by']>
  hasFallback: boolean
  /** A day, or empty. */
  lastDay: string
  /** The time that is stored, within that day. */
  storedExpiry: string | null
  replacement: string
}

export function newTarget(): TargetDraft {
  return { row: randomId(), model: '', weight: 50, tag: '' }
}

export function emptyAliasDraft(workspaceId: string | null): AliasDraft {
  return {
    ...{ name: '', workspaceId, kind: 'order', models: [], targets: [newTarget(), newTarget()] },
    ...{ splitBy: 'session', hasFallback: true, lastDay: '', storedExpiry: null, replacement: '' },
  }
}

export function draftOfAlias(alias: Alias): AliasDraft {
  const { name, workspace_id, models, targets, split_by, fallback, expires_at, replacement } = alias
  return {
    name,
    workspaceId: workspace_id,
    kind: targets ? 'weights' : 'order',
    models: [...new Set(models)],
    targets: (targets ?? []).map((target) => ({ ...target, row: randomId() })),
    splitBy: split_by ?? 'session',
    hasFallback: fallback ?? true,
    lastDay: expires_at?.slice(0, 10) ?? '',
    storedExpiry: expires_at,
    replacement: replacement ?? '',
  }
}

export function isComplete({ name, kind, models, targets, lastDay, replacement }: AliasDraft): boolean {
  const isRouted =
    kind === 'order'
      ? models.length > 0
      : targets.length > 0 &&
        targets.every(({ model, weight }) => model !== '' && weight !== null) &&
        targets.some(({ weight }) => weight !== 0)
  return name.trim() !== '' && isRouted && (replacement === '' || lastDay !== '')
}

export function toUpdateBody(draft: AliasDraft): UpdateBody {
  const { kind, models, targets, splitBy, hasFallback, lastDay, storedExpiry, replacement } = draft
  return {
    ...(kind === 'order'
      ? { models }
      : {
          targets: targets.map(({ model, weight, tag }) => ({
            model,
            weight: weight ?? 0,
            ...(tag.trim() && { tag: tag.trim() }),
          })),
          split_by: splitBy,
          fallback: hasFallback,
        }),
    expires_at: storedExpiry?.slice(0, 10) === lastDay ? storedExpiry : readUtcDay(lastDay),
    replacement: replacement.trim() || null,
  }
}

export function toCreateBody(draft: AliasDraft): CreateBody {
  return { ...toUpdateBody(draft), name: draft.name.trim(), workspace_id: draft.workspaceId }
}
