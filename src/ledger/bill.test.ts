import { expect, test } from 'bun:test'
import { zeroUsage } from '../formats/call/usage.ts'
import { Bill } from './bill.ts'
import { type Charge, zeroCharge } from './charge.ts'

const turn: Charge = {
  ...zeroCharge,
  usage: { ...zeroUsage, input: 10, output: 5, reportedCost: 0.5 },
  source: 'reported',
  listPrice: { total: 15n, prompt: 10n, completion: 5n },
  cost: 15n,
  upstream: 15n,
}

function fillBill(): Bill {
  const bill = new Bill()
  const line = { name: 'a/model', provider: 'p', quantity: 1, durationMs: 3 }
  bill.addTurn(line, turn)
  bill.addTurn(line, { ...turn, source: 'estimated', flag: 'uncounted' })
  bill.addFee({ kind: 'tool', name: 'web_search', provider: 'exa', quantity: 2, cost: 7n, durationMs: 1 })
  bill.addNested({ ...line, usage: turn.usage, cost: 100n, nestedId: 'gen-2' })
  return bill
}

test('R1 the charge of a request is the sum of its turns and fees, without nested requests', () => {
  const { charge, fees, nested, lines } = fillBill()
  expect(charge.usage).toEqual({ ...zeroUsage, input: 20, output: 10, reportedCost: 1 })
  expect(charge.listPrice).toEqual({ total: 30n, prompt: 20n, completion: 10n })
  expect([charge.cost, charge.upstream, fees, nested]).toEqual([37n, 30n, 7n, 100n])
  expect([charge.source, charge.flag]).toEqual(['estimated', 'uncounted'])
  expect(lines.reduce((sum, { cost }) => sum + cost, 0n)).toBe(charge.cost + nested)
})

test('R1 what ends after the charge changes neither it nor its lines; nested requests are passed on', () => {
  const bill = fillBill()
  const charge = bill.close()
  const line = { name: 'a/model', provider: 'p', quantity: 1, durationMs: 3 }
  const nested = { ...line, usage: turn.usage, cost: 5n, nestedId: 'gen-3' }
  bill.addFee({ ...line, kind: 'tool', cost: 9n })
  bill.addTurn(line, turn)
  bill.addNested(nested)
  expect([bill.charge, bill.fees, bill.nested, bill.lines.length]).toEqual([charge, 7n, 100n, 4])
  const late: string[] = []
  bill.takeLate(({ nestedId }) => late.push(`${nestedId}`))
  bill.addNested({ ...nested, nestedId: 'gen-4' })
  expect(late).toEqual(['gen-3', 'gen-4'])
})

test('R2 a bill survives a checkpoint', () => {
  const bill = fillBill()
  const decoded = Bill.decode(JSON.parse(JSON.stringify(bill.encode({ amount: 1n, byok: 2n }))))
  expect(decoded.lines).toEqual(bill.lines)
  expect(decoded.charge).toEqual(bill.charge)
  expect([decoded.fees, decoded.nested]).toEqual([bill.fees, bill.nested])
})
