import type { Db } from '../../platform/db/db.ts'
import { utcDay } from '../../platform/time/time.ts'
import {
  type MacroCategory,
  macroCategories,
  macroCategoryOf,
  type TaskTag,
  taskNames,
} from '../classifier/tasks.ts'
import { readFigures } from './figures.ts'

/** Tokens, and money at list prices. */
interface Volume {
  tokens: number
  cost: number
}

interface TaskVolume extends Volume {
  models: Map<string, Volume>
}

export interface ModelShare {
  id: string
  tokenShare: number
  usageShare: number
}

export interface TaskShare {
  tag: TaskTag
  macro: MacroCategory
  /** Shares of all tasks, and shares of its kind of work. */
  tokenShare: number
  usageShare: number
  macroTokenShare: number
  macroUsageShare: number
  /** The models that served it, the one with most tokens first. */
  models: ModelShare[]
}

export interface MacroShare {
  macro: MacroCategory
  tokenShare: number
  usageShare: number
}

export interface TaskShares {
  /** The last day of the window. */
  asOf: string
  tasks: TaskShare[]
  macros: MacroShare[]
}

export const taskWindowDays = 7
const dayMs = 86_400_000
const maxModels = 100

/** Shares of the sampled requests of the last seven complete days, without those whose task is unknown. */
export async function readTaskShares(db: Db, now: number, minOrganizations: number): Promise<TaskShares> {
  const asOf = utcDay(now - dayMs)
  const from = utcDay(now - taskWindowDays * dayMs)
  const volumes = new Map<TaskTag, TaskVolume>()
  await readFigures(
    db,
    { kind: 'task', from, to: asOf, minOrganizations },
    ({ subject, tokens, cost_nanos }) => {
      const [model = '', tag = ''] = subject.split('\n')
      if (Object.hasOwn(taskNames, tag)) addVolume(volumes, tag as TaskTag, model, tokens, Number(cost_nanos))
    },
  )
  return { asOf, ...computeShares(volumes) }
}

function addVolume(
  volumes: Map<TaskTag, TaskVolume>,
  tag: TaskTag,
  model: string,
  tokens: number,
  cost: number,
): void {
  const task = volumes.get(tag) ?? { tokens: 0, cost: 0, models: new Map<string, Volume>() }
  const ofModel = task.models.get(model) ?? { tokens: 0, cost: 0 }
  for (const volume of [task, ofModel]) {
    volume.tokens += tokens
    volume.cost += cost
  }
  task.models.set(model, ofModel)
  volumes.set(tag, task)
}

function computeShares(volumes: ReadonlyMap<TaskTag, TaskVolume>): Pick<TaskShares, 'tasks' | 'macros'> {
  const all = sumVolumes(volumes.values())
  const byMacro = Map.groupBy(volumes, ([tag]) => macroCategoryOf(tag))
  const macroVolumes = new Map(
    [...byMacro].map(([macro, entries]) => [macro, sumVolumes(entries.map(([, volume]) => volume))]),
  )
  const tasks = [...volumes].map(([tag, volume]): TaskShare => {
    const macro = macroCategoryOf(tag)
    const whole = macroVolumes.get(macro) ?? all
    return {
      tag,
      macro,
      ...sharesOf(volume, all),
      macroTokenShare: divide(volume.tokens, whole.tokens),
      macroUsageShare: divide(volume.cost, whole.cost),
      models: listModelShares(volume),
    }
  })
  const names = Object.keys(macroCategories) as MacroCategory[]
  return {
    tasks: tasks.sort((a, b) => compareShares(a, b) || (a.tag < b.tag ? -1 : 1)),
    macros: names.map((macro) => ({ macro, ...sharesOf(macroVolumes.get(macro) ?? noVolume, all) })),
  }
}

const noVolume: Volume = { tokens: 0, cost: 0 }

function listModelShares(task: TaskVolume): ModelShare[] {
  const shares = [...task.models].map(([id, volume]) => ({ id, ...sharesOf(volume, task) }))
  return shares.sort((a, b) => compareShares(a, b) || (a.id < b.id ? -1 : 1)).slice(0, maxModels)
}

type Shares = Pick<ModelShare, 'tokenShare' | 'usageShare'>

function compareShares(a: Shares, b: Shares): number {
  return b.tokenShare - a.tokenShare || b.usageShare - a.usageShare
}

function sumVolumes(volumes: Iterable<Volume>): Volume {
  const sum = { tokens: 0, cost: 0 }
  for (const { tokens, cost } of volumes) {
    sum.tokens += tokens
    sum.cost += cost
  }
  return sum
}

function sharesOf(part: Volume, whole: Volume): { tokenShare: number; usageShare: number } {
  return { tokenShare: divide(part.tokens, whole.tokens), usageShare: divide(part.cost, whole.cost) }
}

function divide(part: number, whole: number): number {
  return whole === 0 ? 0 : part / whole
}
