import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { printTotals, testTimeoutMs } from '../options.ts'
import { faults } from './faults.ts'
import { IsolatedLab, valkeyProgram } from './isolation.ts'
import type { Report } from './run-fault.ts'

/** Requests during the rolling restart. */
const requestCount = Number(process.env.HEADGATE_FAULTS_REQUESTS ?? 50_000)

describe.if(valkeyProgram !== undefined)('three nodes behind a balancer', () => {
  let lab: IsolatedLab

  beforeAll(async () => {
    lab = new IsolatedLab(valkeyProgram ?? '', requestCount)
    await lab.read()
  }, testTimeoutMs)
  afterAll(() => lab.close())

  async function run(name: string): Promise<void> {
    const { figures, problems } = (await lab.run(name)) as Report
    printTotals(name, figures)
    expect(problems).toEqual([])
  }

  test.each(faults.map(({ name }) => name))(
    'R1 R2 R7 I1 I2 I5 I8 I12 %s: three books agree, no limit is exceeded, and nodes that are not concerned serve',
    run,
    testTimeoutMs,
  )

  test(
    `I7 nodes that are restarted in turn fail none of ${requestCount} requests and cut no stream`,
    () => run('rolling restart'),
    testTimeoutMs,
  )
})
