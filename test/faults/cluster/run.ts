// The lab, in the namespaces that `isolation.ts` made: reads the name of a fault in each line, and writes what it found.
import { createInterface } from 'node:readline'
import { faults } from './faults.ts'
import { Lab } from './lab.ts'
import { warmUp } from './load.ts'
import { restartInTurn } from './rolling-restart.ts'
import { runFault } from './run-fault.ts'

const [valkey = '', requests = ''] = process.argv.slice(2)
const lab = await Lab.create(valkey)
await warmUp(lab)
console.log(JSON.stringify({ ready: true }))

for await (const name of createInterface({ input: process.stdin })) {
  const fault = faults.find((candidate) => candidate.name === name)
  const report = await (fault ? runFault(lab, fault) : restartInTurn(lab, Number(requests))).catch(
    (error: unknown) => ({ figures: {}, problems: [String(error)] }),
  )
  console.log(JSON.stringify(report))
}
process.exit(0)
