import { WorkspaceSelect } from '../components/workspace-select.tsx'
import { Icon } from '../theme/icon.tsx'
import { useWorkspace } from './workspace.tsx'

/** Chooses the workspace that the screens are about, or all of them. Nothing if there is only one. */
export function WorkspaceSwitch() {
  const { id, workspaces, choose } = useWorkspace()
  if (workspaces.length < 2) return null
  return (
    <WorkspaceSelect
      label="Workspace"
      size="xs"
      labelProps={{ className: 'headgate-hidden' }}
      leftSection={<Icon name="workspaces" size={14} />}
      placeholder="All workspaces"
      value={id}
      onChange={(_, workspace) => choose(workspace)}
    />
  )
}
