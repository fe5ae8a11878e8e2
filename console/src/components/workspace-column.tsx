import { useWorkspace } from '../app/workspace.tsx'
import type { Column } from './data-table.tsx'
import { useWorkspaceNames } from './use-workspaces.ts'

/** A column with the workspace of each row, while a list has those of several. */
export function useWorkspaceColumn<Row extends { workspace_id?: string | null }>(
  ids: readonly (string | null)[],
): Column<Row>[] {
  const { id, workspaces } = useWorkspace()
  const nameOf = useWorkspaceNames(id === null ? ids : [])
  if (id !== null || workspaces.length < 2) return []
  return [
    {
      header: 'Workspace',
      visibleFrom: 'sm',
      csv: ({ workspace_id }) => (workspace_id ? nameOf(workspace_id) : null),
      render: ({ workspace_id }) => (workspace_id ? nameOf(workspace_id) : '–'),
    },
  ]
}
