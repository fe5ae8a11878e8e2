import { readFileSync } from 'node:fs'
import { z } from 'zod'
import { type DeclaredModel, declaredModel } from './declared-model.ts'

export interface Snapshot {
  source: string
  version: string
  /** The day whose prices it holds. */
  date: string
  models: DeclaredModel[]
}

const snapshotSchema = z.strictObject({
  source: z.string(),
  version: z.string(),
  date: z.iso.date(),
  models: z.array(declaredModel),
})

let loaded: Snapshot | undefined

/** The models known without any configuration: made by scripts/catalogue.ts, read once. */
export function readSnapshot(): Snapshot {
  loaded ??= snapshotSchema.parse(
    JSON.parse(readFileSync(new URL('./snapshot.json', import.meta.url), 'utf8')),
  )
  return loaded
}
