import { Skeleton } from '@mantine/core'
import { lazy, Suspense } from 'react'
import { Icon } from '../theme/icon.tsx'
import { useWorkspace } from './workspace.tsx'

const WorkspaceSelect = lazy(() =>
  import('../components/workspace-select.tsx').then((module) => ({ default: module.WorkspaceSelect })),
)

/** Chooses the workspace that the screens are about, or all of them. Nothing if there is only one. */
export function WorkspaceSwitch() {
  const { id, workspaces, choose } = useWorkspace()
  if (workspaces.length < 2) return null
  return (
    <Suspense fallback={<Skeleton w={190} h={30} radius="sm" />}>
      <WorkspaceSelect
        label="Workspace"
        size="xs"
        labelProps={{ className: 'headgate-hidden' }}
        leftSection={<Icon name="workspaces" size={14} />}
        placeholder="All workspaces"
        value={id}
        onChange={(_, workspace) => choose(workspace)}
      />
    </Suspense>
  )
}
