import { deriveUuid } from '../../platform/crypto/ids.ts'

/** A guardrail that exists without being created, and applies without being assigned. */
export interface DefaultGuardrail {
  id: string
  /** Null for the organization's. */
  workspaceId: string | null
  name: string
}

export function buildWorkspaceGuardrail(workspaceId: string): DefaultGuardrail {
  return {
    id: deriveUuid('default-guardrail', workspaceId),
    workspaceId,
    name: `Workspace ${workspaceId} Default`,
  }
}

export function buildOrganizationGuardrail(organizationId: string): DefaultGuardrail {
  return {
    id: deriveUuid('account-guardrail', organizationId),
    workspaceId: null,
    name: `Organization ${organizationId}`,
  }
}

export function isDefaultGuardrail(guardrail: { id: string; workspace_id: string | null }): boolean {
  return (
    guardrail.workspace_id === null || guardrail.id === buildWorkspaceGuardrail(guardrail.workspace_id).id
  )
}
