import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { api, client } from '../../api/client.ts'
import { useRefresh } from '../../api/use-refresh.ts'
import { FormDialog } from '../../components/form-dialog.tsx'
import { MemberSelect } from '../../components/member-select.tsx'
import { QueryView } from '../../components/query-view.tsx'
import { useMemberNames } from '../../components/use-members.ts'
import { AssignmentList, assignmentPageSize } from './assignment-list.tsx'
import type { Guardrail } from './draft.ts'

export function memberAssignmentsOptions(id: string, offset = 0) {
  return api.queryOptions('get', '/guardrails/{id}/assignments/members', {
    params: { path: { id }, query: { offset, limit: assignmentPageSize } },
  })
}

export function MemberAssignments({ guardrail, mayChange }: { guardrail: Guardrail; mayChange: boolean }) {
  const refresh = useRefresh()
  const [offset, setOffset] = useState(0)
  const query = useQuery(memberAssignmentsOptions(guardrail.id, offset))
  const nameOf = useMemberNames((query.data?.data ?? []).map(({ user_id }) => user_id))
  const params = { path: { id: guardrail.id } }
  const remove = async (userId: string) => {
    const body = { member_user_ids: [userId] }
    await client.POST('/guardrails/{id}/assignments/members/remove', { params, body })
    await refresh('/guardrails/{id}/assignments/members')
  }
  const add = async (member_user_ids: string[]) => {
    await client.POST('/guardrails/{id}/assignments/members', { params, body: { member_user_ids } })
    await refresh('/guardrails/{id}/assignments/members')
  }
  return (
    <QueryView query={query}>
      {({ data, total_count }) => (
        <AssignmentList
          title="Members"
          description="It applies to all keys that they created in the workspace."
          items={data.map(({ user_id }) => ({ id: user_id, name: nameOf(user_id) }))}
          offset={offset}
          total={total_count}
          onPage={setOffset}
          {...(mayChange && { onRemove: remove })}
          renderDialog={(onClose) => <AssignMembers onAssign={add} onClose={onClose} />}
        />
      )}
    </QueryView>
  )
}

interface AssignMembersProps {
  onAssign: (ids: string[]) => Promise<void>
  onClose: () => void
}

function AssignMembers({ onAssign, onClose }: AssignMembersProps) {
  const [ids, setIds] = useState<string[]>([])
  return (
    <FormDialog
      title="Assign to members"
      action="Assign"
      isReady={ids.length > 0}
      onSubmit={() => onAssign(ids)}
      onClose={onClose}
    >
      <MemberSelect label="Members" value={ids} onChange={setIds} />
    </FormDialog>
  )
}
