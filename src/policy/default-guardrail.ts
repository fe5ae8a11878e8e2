import { derivedUuid } from '../lib/ids.ts'

/** A guardrail that exists before anyone stored it, and applies without being assigned. */
export interface StandingGuardrail {
  id: string
  /** Null for the one of the whole organization. */
  workspaceId: string | null
  name: string
}

export function workspaceGuardrail(workspaceId: string): StandingGuardrail {
  return {
    id: derivedUuid('default-guardrail', workspaceId),
    workspaceId,
    name: `Workspace ${workspaceId} Default`,
  }
}

export function organizationGuardrail(organizationId: string): StandingGuardrail {
  return {
    id: derivedUuid('account-guardrail', organizationId),
    workspaceId: null,
    name: `Organization ${organizationId}`,
  }
}

export function isStanding(guardrail: { id: string; workspace_id: string | null }): boolean {
  return guardrail.workspace_id === null || guardrail.id === workspaceGuardrail(guardrail.workspace_id).id
}
