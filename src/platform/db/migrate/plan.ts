import { migrations } from '../migrations/all.ts'
import { isRolling, listPending, migrationOf, nextSteps, type SchemaRecord } from './record.ts'
import { recordStatements } from './recorded-statements.ts'
import { isContract, type Step, stepsOf } from './steps.ts'

export interface PlannedStep {
  title: string
  kind: Step['kind']
  /** On PostgreSQL, where they do not depend on rows. */
  statements: string[]
}

export interface PlannedMigration {
  name: string
  /** `offline`: while all nodes are stopped. `contract`: once every node knows it. */
  kind: 'offline' | 'expand' | 'contract'
  steps: PlannedStep[]
}

/** What is left to do, in its order. */
export async function planMigrations(record: SchemaRecord): Promise<PlannedMigration[]> {
  const { offline, expand, contract } = listPending(record)
  const plan: PlannedMigration[] = offline.map((name) => ({ name, kind: 'offline', steps: [] }))
  for (const name of Object.keys(migrations).sort()) {
    if (!isRolling(name) || !(expand.includes(name) || contract.includes(name))) continue
    const steps: PlannedStep[] = []
    for (const number of nextSteps(record, name)) {
      const step = stepsOf(migrationOf(name))[number]
      if (step) steps.push({ title: step.title, kind: step.kind, statements: await recordStatements(step) })
    }
    plan.push({ name, kind: isContract(migrationOf(name)) ? 'contract' : 'expand', steps })
  }
  return plan
}
