import type { Migration } from 'kysely/migration'
import { foundation } from './001-foundation.ts'

export const migrations: Record<string, Migration> = {
  '001-foundation': foundation,
}
