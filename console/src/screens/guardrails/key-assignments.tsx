import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { api, client } from '../../api/client.ts'
import { useRefresh } from '../../api/use-refresh.ts'
import { FormDialog } from '../../components/form-dialog.tsx'
import { KeysSelect } from '../../components/key-select.tsx'
import { QueryView } from '../../components/query-view.tsx'
import { AssignmentList, assignmentPageSize } from './assignment-list.tsx'
import type { Guardrail } from './draft.ts'

export function keyAssignmentsOptions(id: string, offset = 0) {
  return api.queryOptions('get', '/guardrails/{id}/assignments/keys', {
    params: { path: { id }, query: { offset, limit: assignmentPageSize } },
  })
}

export function KeyAssignments({ guardrail, mayChange }: { guardrail: Guardrail; mayChange: boolean }) {
  const refresh = useRefresh()
  const [offset, setOffset] = useState(0)
  const query = useQuery(keyAssignmentsOptions(guardrail.id, offset))
  const params = { path: { id: guardrail.id } }
  const remove = async (hash: string) => {
    await client.POST('/guardrails/{id}/assignments/keys/remove', { params, body: { key_hashes: [hash] } })
    await refresh('/guardrails/{id}/assignments/keys')
  }
  const add = async (key_hashes: string[]) => {
    await client.POST('/guardrails/{id}/assignments/keys', { params, body: { key_hashes } })
    await refresh('/guardrails/{id}/assignments/keys')
  }
  return (
    <QueryView query={query}>
      {({ data, total_count }) => (
        <AssignmentList
          title="Keys"
          description="A key has at most one guardrail of its own. Assigning replaces it."
          items={data.map((item) => ({ id: item.key_hash, name: `${item.key_name} (${item.key_label})` }))}
          offset={offset}
          total={total_count}
          onPage={setOffset}
          {...(mayChange && { onRemove: remove })}
          renderDialog={(onClose) => (
            <AssignKeys workspaceId={guardrail.workspace_id} onAssign={add} onClose={onClose} />
          )}
        />
      )}
    </QueryView>
  )
}

interface AssignKeysProps {
  workspaceId: string
  onAssign: (hashes: string[]) => Promise<void>
  onClose: () => void
}

function AssignKeys({ workspaceId, onAssign, onClose }: AssignKeysProps) {
  const [hashes, setHashes] = useState<string[]>([])
  return (
    <FormDialog
      title="Assign to keys"
      action="Assign"
      isReady={hashes.length > 0}
      onSubmit={() => onAssign(hashes)}
      onClose={onClose}
    >
      <KeysSelect
        label="Keys"
        description="The newest keys of the workspace; type to find others by their name."
        workspaceId={workspaceId}
        value={hashes}
        onChange={setHashes}
      />
    </FormDialog>
  )
}
