import { describe, expect, test } from 'bun:test'
import { disturbanceBetween, parseMachineTimes, parseProcessTimes, sumTrees } from './machine-load.ts'

const machine = (user: number, idle: number, softirq: number, stolen: number) =>
  parseMachineTimes(`cpu  ${user} 0 0 ${idle} 0 0 ${softirq} ${stolen} 0 0\ncpu0 1 2 3 4 5 6 7 8 9 10\n`)

describe('the load of the machine during a block', () => {
  test('counts what other processes used and what was stolen, not what the block used itself', () => {
    const before = { machine: machine(1000, 1000, 10, 5), ownTicks: 400 }
    const after = { machine: machine(1070, 1010, 20, 15), ownTicks: 450 }
    // 100 ticks passed: 50 of our own, 10 of interrupts, 20 of others, 10 stolen, 10 idle.
    expect(disturbanceBetween(before, after)).toBeCloseTo(0.3, 10)
  })

  test('is none if nothing passed, or if the clocks round in our favor', () => {
    const before = { machine: machine(1000, 1000, 0, 0), ownTicks: 400 }
    expect(disturbanceBetween(before, before)).toBe(0)
    expect(disturbanceBetween(before, { machine: machine(1010, 1090, 0, 0), ownTicks: 412 })).toBe(0)
  })

  test('reads a process whose name has spaces and brackets', () => {
    const stat = '42 (a (b) c) S 7 42 42 0 -1 4194560 100 0 0 0 11 12 13 14 20 0 1 0 100 200 300'
    expect(parseProcessTimes(stat)).toEqual({ parent: 7, ticks: 50 })
  })

  test('adds up processes with their descendants, each once', () => {
    const processes = new Map([
      [1, { parent: 0, ticks: 1000 }],
      [10, { parent: 1, ticks: 1 }],
      [11, { parent: 10, ticks: 2 }],
      [12, { parent: 11, ticks: 4 }],
      [20, { parent: 1, ticks: 8 }],
      [30, { parent: 1, ticks: 16 }],
    ])
    expect(sumTrees(processes, [10, 12, 20, 99])).toBe(15)
  })
})
