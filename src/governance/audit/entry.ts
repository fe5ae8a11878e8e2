import type { Selectable } from 'kysely'
import type { AuditEntryTable } from '../../platform/db/schema.ts'

export type AuditEntry = Selectable<AuditEntryTable>

/** The author of an event: a member, an API key, an identity provider, a job, or the command line. */
export interface Actor {
  type: 'member' | 'key' | 'workload' | 'scim' | 'job' | 'command' | 'anonymous'
  id: string | null
  name: string | null
}

/** The author of an event, and the source of its request. */
export interface AuditOrigin {
  /** Null for an event that belongs to no organization, such as a failed sign-in. */
  organizationId: string | null
  actor: Actor
  ip: string | null
  userAgent: string | null
  requestId: string | null
}

/** A row of a table; secrets are masked when it is recorded. */
export type AuditRecord = Record<string, unknown>

export interface AuditEvent {
  /** `<target>.<verb>`, such as `key.update`. */
  action: string
  target: { type: string; id: string; name?: string | null }
  workspaceId?: string | null
  /** Organization of the target, where the actor acts on another one. */
  organizationId?: string
  outcome?: 'success' | 'refused'
  /** The rows before and after a change. Only the fields that differ are stored. */
  before?: AuditRecord | null
  after?: AuditRecord | null
  /** Further facts, such as the reason of a rejection. */
  details?: AuditRecord
}

/** The owner of a secret; null: the installation. */
export interface SecretOwner {
  organizationId: string | null
  workspaceId: string | null
  name: string | null
}

/** Secrets whose owner is found by their id. */
export type OwnedSecret = 'byok_key' | 'destination' | 'audit_destination' | 'video_secret'
