import { Radio, Stack } from '@mantine/core'
import { mayDo, mayDoEverywhere, type Permission, useSession } from '../app/session.tsx'
import { WorkspaceSelect } from './workspace-select.tsx'

/** Who sees a record. */
export interface Audience {
  visibility: 'private' | 'workspace' | 'organization'
  workspaceId: string | null
}

interface VisibilityFieldsProps {
  /** The permission to share such a record. */
  permission: Permission
  /** Whether the person may make it private. */
  isOwn: boolean
  value: Audience
  onChange: (value: Audience) => void
}

/** Chooses who sees a record; hidden from people who cannot share it. */
export function VisibilityFields({ permission, isOwn, value, onChange }: VisibilityFieldsProps) {
  const session = useSession()
  if (!mayDo(session, permission)) return null
  return (
    <>
      <Radio.Group
        label="Visible to"
        value={value.visibility}
        onChange={(next) => onChange({ ...value, visibility: next as Audience['visibility'] })}
      >
        <Stack gap={6} mt={4}>
          <Radio size="xs" value="private" label="Only me" disabled={!isOwn} />
          <Radio size="xs" value="workspace" label="Members of a workspace" />
          <Radio
            size="xs"
            value="organization"
            label="Everyone in the organization"
            disabled={!mayDoEverywhere(session, permission)}
          />
        </Stack>
      </Radio.Group>
      {value.visibility === 'workspace' && (
        <WorkspaceSelect
          label="Workspace"
          allowDeselect={false}
          value={value.workspaceId}
          onChange={(workspaceId) => onChange({ ...value, workspaceId })}
        />
      )}
    </>
  )
}

export function isComplete({ visibility, workspaceId }: Audience): boolean {
  return visibility !== 'workspace' || workspaceId !== null
}

/** The fields of a request that say who sees a record. */
export function bodyOf({ visibility, workspaceId }: Audience) {
  return {
    visibility,
    ...(visibility === 'workspace' && workspaceId !== null && { workspace_id: workspaceId }),
  }
}
