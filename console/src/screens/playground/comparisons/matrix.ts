import type { Schemas } from '../../../api/client.ts'
import type { paths } from '../../../api/schema.ts'
import { type Answer, figuresOf } from '../answer.ts'

export const maxPrompts = 50
export const maxModels = 6
export const maxTextLength = 20_000
/** Requests that are sent at once. */
export const concurrency = 4

/** A place in the matrix. */
export interface Place {
  prompt: number
  model: number
}

/** The reply of a model to a prompt, as it is shown. */
export interface Cell extends Place {
  status: 'running' | 'done' | 'failed' | 'canceled'
  text: string
  isShortened: boolean
  error: string | null
  generationId: string | null
  cost: number | null
  /** Milliseconds to the first token. */
  latency: number | null
  /** Milliseconds to the end. */
  generationTime: number | null
}

export type Votes = Pick<Schemas['ComparisonVotes'], 'votes' | 'own_votes'>
/** The body that saves a comparison. */
export type NewComparison = paths['/comparisons']['post']['requestBody']['content']['application/json']
export type Total = Schemas['ComparisonVotes']['totals'][number]

const statuses = { streaming: 'running', done: 'done', failed: 'failed', stopped: 'canceled' } as const

export function cellOf(place: Place, answer: Answer): Cell {
  const { cost, firstTokenMs, totalMs } = figuresOf(answer)
  const { status, error } = answer
  return {
    ...place,
    status: statuses[status],
    text: answer.text,
    isShortened: false,
    error: status === 'failed' ? (error instanceof Error ? error.message : 'The request failed.') : null,
    generationId: answer.generationId,
    cost,
    latency: firstTokenMs,
    generationTime: totalMs,
  }
}

export function savedCellOf(reply: Schemas['Comparison']['replies'][number]): Cell {
  const { prompt, model, text, is_shortened, error, generation_id, cost, latency, generation_time } = reply
  return {
    ...{ prompt, model, text, error, cost, latency },
    status: error === null ? 'done' : 'failed',
    isShortened: is_shortened,
    generationId: generation_id,
    generationTime: generation_time,
  }
}

/** Adds up what has not been saved, as the server does what has. */
export function sumUp(models: readonly string[], cells: readonly Cell[], { votes }: Votes): Total[] {
  return models.map((name, model) => {
    const own = cells.filter((cell) => cell.model === model)
    const complete = own.filter(({ status }) => status === 'done')
    const voted = votes.filter((vote) => vote.model === model)
    return {
      model: name,
      replies: complete.length,
      votes: voted.reduce((sum, { count }) => sum + count, 0),
      wins: voted.length,
      cost: own.reduce((sum, { cost }) => sum + (cost ?? 0), 0),
      latency: meanOf(complete.map(({ latency }) => latency)),
      generation_time: meanOf(complete.map(({ generationTime }) => generationTime)),
    }
  })
}

function meanOf(values: (number | null)[]): number | null {
  const known = values.filter((value) => value !== null)
  return known.length > 0 ? known.reduce((sum, value) => sum + value, 0) / known.length : null
}

/** The prompts that have a reply to vote for. */
export function countVotable(cells: readonly Cell[]): number {
  return new Set(cells.filter(({ status }) => status === 'done').map(({ prompt }) => prompt)).size
}

/** The vote of the person who has run the matrix and not saved it: one for each prompt. */
export function setVote({ own_votes }: Votes, prompt: number, model: number | null): Votes {
  const others = own_votes.filter((vote) => vote.prompt !== prompt)
  const own = model === null ? others : [...others, { prompt, model }]
  return { own_votes: own, votes: own.map((vote) => ({ ...vote, count: 1 })) }
}

/** The order of the models in a row of a blind comparison: the same whenever it is shown, and another in each row. */
export function shuffle(count: number, seed: string): number[] {
  const keys = Array.from({ length: count }, (_, model) => ({ model, key: hash(`${seed} ${model}`) }))
  return keys.sort((a, b) => a.key - b.key).map(({ model }) => model)
}

/** FNV-1a, with a last step that spreads texts which differ in their end only. */
function hash(text: string): number {
  let value = 0x811c9dc5
  for (let at = 0; at < text.length; at++) value = Math.imul(value ^ text.charCodeAt(at), 0x01000193)
  value = Math.imul(value ^ (value >>> 15), 0x2c1b3c6d)
  return (value ^ (value >>> 13)) >>> 0
}

/** Runs tasks, a few at a time and in their order, until all are done or the signal is aborted. */
export async function runPool<Task>(
  tasks: readonly Task[],
  width: number,
  signal: AbortSignal,
  run: (task: Task) => Promise<void>,
): Promise<void> {
  const waiting = tasks.values()
  const work = async () => {
    for (const task of waiting) {
      if (signal.aborted) return
      await run(task)
    }
  }
  await Promise.all(Array.from({ length: Math.min(width, tasks.length) }, work))
}

/** The body that saves a comparison may have a mebibyte; this much of it is for replies. */
const maxReplyBytes = 600_000
export const maxPromptBytes = 300_000

/** The replies as they are saved: long ones are shortened, so that all of them fit. */
export function listReplies(cells: readonly Cell[]): NewComparison['replies'] {
  const complete = cells.filter(({ status }) => status === 'done' || status === 'failed')
  const share = Math.floor(maxReplyBytes / Math.max(complete.length, 1))
  return complete.map(({ prompt, model, text, error, generationId, cost }) => {
    const shortened = shorten(text, share)
    return {
      ...{ prompt, model, text: shortened },
      ...(shortened.length < text.length && { is_shortened: true }),
      ...(error !== null && { error: error.slice(0, 2000) }),
      // A request that was rejected has no generation.
      ...(generationId !== null && cost !== null && { generation_id: generationId }),
    }
  })
}

function shorten(text: string, maxBytes: number): string {
  let start = text.slice(0, maxTextLength)
  for (let bytes = bytesOf(start); bytes > maxBytes; bytes = bytesOf(start))
    start = start.slice(0, Math.floor((start.length * maxBytes) / bytes) - 1)
  return start
}

/** Its length in JSON. */
export function bytesOf(value: unknown): number {
  return new TextEncoder().encode(JSON.stringify(value)).length
}
