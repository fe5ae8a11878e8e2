import type { Selectable } from 'kysely'
import type { AuditEntryTable } from '../../platform/db/schema.ts'

export type AuditEntry = Selectable<AuditEntryTable>

/** Who did something: a member, an API key, an identity provider, a job, or the command line. */
export interface Actor {
  type: 'member' | 'key' | 'workload' | 'scim' | 'job' | 'command' | 'anonymous'
  id: string | null
  name: string | null
}

/** Who caused an event, and from where. */
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
  /** Of the target, where the actor acts on another organization. */
  organizationId?: string
  outcome?: 'success' | 'refused'
  /** The rows before and after a change. Only the fields that differ are stored. */
  before?: AuditRecord | null
  after?: AuditRecord | null
  /** What else is known, such as the reason of a refusal. */
  details?: AuditRecord
}

/** Whose secret it is; null: the installation's. */
export interface SecretOwner {
  organizationId: string | null
  workspaceId: string | null
  name: string | null
}

/** Secrets whose owner is found by their id. */
export type OwnedSecret = 'byok_key' | 'destination' | 'audit_destination' | 'video_secret'
