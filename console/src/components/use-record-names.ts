import type { CompletedField } from './filter-input.tsx'
import type { Filters, ValueField } from './filter-query.ts'
import { splitValues } from './filter-query.ts'
import { useMemberNames } from './use-members.ts'
import { useWorkspaceNames } from './use-workspaces.ts'

/** Names members and workspaces that filters have by id. */
export function useRecordNames(
  filters: Filters,
  fields: readonly CompletedField[],
): (field: ValueField, id: string) => string {
  const idsOf = (source: CompletedField['source']) =>
    fields
      .filter((field) => field.idPattern && field.source === source)
      .flatMap(({ parameter }) => splitValues(filters[parameter] ?? ''))
      .map((id) => id.replace(/^!/, ''))
  const memberOf = useMemberNames(idsOf('member'))
  const workspaceOf = useWorkspaceNames(idsOf('workspace'))
  return (field, id) => {
    const { source } = fields.find(({ name }) => name === field.name) ?? {}
    if (source === 'member') return memberOf(id)
    return source === 'workspace' ? workspaceOf(id) : id
  }
}
