import { expect, test } from 'bun:test'
import { ApiError } from '../../../api/error.ts'
import { startAnswer } from '../answer.ts'
import { type Cell, cellOf, listReplies, runPool, setVote, shuffle, sumUp } from './matrix.ts'

const cell = (changes: Partial<Cell> = {}): Cell => ({
  ...{ prompt: 0, model: 0, status: 'done', text: 'Hello', isShortened: false, error: null },
  ...{ generationId: 'gen-1', cost: 0.5, latency: 100, generationTime: 300 },
  ...changes,
})

test('an answer becomes a cell with its figures', () => {
  const answer = {
    ...startAnswer(100),
    status: 'done' as const,
    text: 'Hi',
    firstTokenAt: 150,
    endedAt: 400,
    usage: { cost: 0.25 },
  }
  expect(cellOf({ prompt: 1, model: 2 }, answer)).toMatchObject({
    ...{ prompt: 1, model: 2, status: 'done', text: 'Hi', error: null },
    ...{ cost: 0.25, latency: 50, generationTime: 300 },
  })
  const failed = {
    ...answer,
    status: 'failed' as const,
    error: new ApiError(429, 'Too many requests.', null),
  }
  expect(cellOf({ prompt: 0, model: 0 }, failed)).toMatchObject({
    status: 'failed',
    error: 'Too many requests.',
  })
})

test('totals have the votes, costs and mean times of each model', () => {
  const cells = [
    cell(),
    cell({ prompt: 1, cost: null, latency: 300, generationTime: 500 }),
    cell({ model: 1, status: 'failed', cost: null, latency: null, generationTime: null }),
  ]
  const votes = setVote(setVote({ votes: [], own_votes: [] }, 0, 1), 0, 0)
  expect(sumUp(['a', 'b'], cells, votes)).toEqual([
    { model: 'a', replies: 2, votes: 1, wins: 1, cost: 0.5, latency: 200, generation_time: 400 },
    { model: 'b', replies: 0, votes: 0, wins: 0, cost: 0, latency: null, generation_time: null },
  ])
  expect(setVote(votes, 0, null)).toEqual({ votes: [], own_votes: [] })
})

test('a pool runs no more than its width at once, and none after it is aborted', async () => {
  const controller = new AbortController()
  const started: number[] = []
  let running = 0
  await runPool([0, 1, 2, 3, 4, 5, 6, 7], 3, controller.signal, async (task) => {
    started.push(task)
    expect(++running).toBeLessThanOrEqual(3)
    await Promise.resolve()
    running--
    if (task === 4) controller.abort()
  })
  expect(started.slice(0, 5)).toEqual([0, 1, 2, 3, 4])
  expect(started).not.toContain(7)
})

test('the order of a blind row is a permutation that depends on the row', () => {
  const orders = Array.from({ length: 30 }, (_, row) => shuffle(4, `id ${row}`))
  for (const order of orders) expect(order.toSorted()).toEqual([0, 1, 2, 3])
  expect(orders[0]).toEqual(shuffle(4, 'id 0'))
  for (const model of [0, 1, 2, 3]) expect(orders.some(([first]) => first === model)).toBe(true)
})

test('replies are shortened until a comparison fits into a request', () => {
  const text = '"é\n'.repeat(6_000)
  const cells = Array.from({ length: 300 }, (_, index) =>
    cell({ prompt: index % 50, model: Math.floor(index / 50), text }),
  )
  const replies = listReplies([...cells, cell({ status: 'canceled' })])
  expect(replies).toHaveLength(300)
  expect(new TextEncoder().encode(JSON.stringify(replies)).length).toBeLessThan(700_000)
  for (const reply of replies) {
    expect(reply.is_shortened).toBe(true)
    expect(text).toStartWith(reply.text)
  }
  expect(listReplies([cell()])).toEqual([{ prompt: 0, model: 0, text: 'Hello', generation_id: 'gen-1' }])
  expect(listReplies([cell({ status: 'failed', error: 'No.', cost: null })])).toEqual([
    { prompt: 0, model: 0, text: 'Hello', error: 'No.' },
  ])
})
