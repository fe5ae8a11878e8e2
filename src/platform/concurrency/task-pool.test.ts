import { expect, test } from 'bun:test'
import { TaskPool } from './task-pool.ts'

test('work with the same name runs once at a time, and counts against the bound', async () => {
  const pool = new TaskPool(2)
  const { promise, resolve } = Promise.withResolvers<void>()
  let started = 0
  const work = () => {
    started++
    return promise
  }
  const first = pool.run('a', work)
  expect(pool.run('a', work)).toBe(first)
  expect([started, pool.free]).toEqual([1, 1])
  resolve()
  await pool.idle()
  expect(pool.free).toBe(2)
  await pool.run('a', work)
  expect(started).toBe(2)
})

test('idle does not throw, and nothing is free once it is closed', async () => {
  const pool = new TaskPool(1)
  const failing = pool.run('a', () => Promise.reject(new Error('no')))
  await pool.close()
  expect(failing).rejects.toThrow('no')
  expect(pool.free).toBe(0)
})
