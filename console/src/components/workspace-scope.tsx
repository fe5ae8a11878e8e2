import { Badge } from '@mantine/core'
import { useWorkspace } from '../app/workspace.tsx'
import { WorkspaceSelect } from './workspace-select.tsx'

/** The scope of a screen: the records of the chosen workspaces, or those of exactly one. */
export type Scope = 'listed' | 'one'

/** The workspace that a screen is about, where there are several. */
export function ScopeBadge({ scope }: { scope: Scope }) {
  const { id, current, workspaces } = useWorkspace()
  if (workspaces.length < 2) return null
  const isAll = scope === 'listed' && id === null
  return (
    <Badge variant="light" color="gray" tt="none" maw={260}>
      {isAll ? 'All workspaces' : `Workspace: ${current?.name ?? 'none'}`}
    </Badge>
  )
}

interface TargetWorkspaceProps {
  /** Null: the default one. */
  value: string | null
  onChange: (id: string | null) => void
}

/** The workspace of a new record: fixed by the menu, or chosen here while all are shown. */
export function TargetWorkspace({ value, onChange }: TargetWorkspaceProps) {
  const { id, workspaces } = useWorkspace()
  if (id !== null || workspaces.length < 2) return null
  return <WorkspaceSelect label="Workspace" allowDeselect={false} value={value} onChange={onChange} />
}
