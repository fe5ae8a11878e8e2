import { WorkspaceSelect } from '../components/workspace-select.tsx'
import { useWorkspace } from './workspace.tsx'

/** Chooses the workspace that the screens are about. Nothing if there is only one. */
export function WorkspaceSwitch() {
  const { current, workspaces, choose } = useWorkspace()
  if (workspaces.length < 2) return null
  return (
    <WorkspaceSelect
      label="Workspace"
      size="xs"
      allowDeselect={false}
      value={current?.id ?? null}
      onChange={(_, workspace) => workspace && choose(workspace)}
    />
  )
}
