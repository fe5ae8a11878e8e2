import { useQuery } from '@tanstack/react-query'
import { createLazyRoute } from '@tanstack/react-router'
import { callOf } from '../../../api/call.ts'
import { api } from '../../../api/client.ts'
import { mayDo, useSession } from '../../../app/session.tsx'
import { useWorkspace } from '../../../app/workspace.tsx'
import { DialogButton } from '../../../components/dialog-button.tsx'
import { EmptyState } from '../../../components/empty-state.tsx'
import { Page } from '../../../components/page.tsx'
import { QueryView } from '../../../components/query-view.tsx'
import { RuleForm } from './rule-form.tsx'
import { RuleTable } from './rule-table.tsx'

export const screen = createLazyRoute('/routing/rules')({ component: RulesScreen })

function RulesScreen() {
  const mayCreate = mayDo(useSession(), 'routing_rules:write')
  const { id: workspaceId } = useWorkspace()
  const options = api.queryOptions('get', '/routing-rules', {
    params: { query: workspaceId === null ? {} : { workspace_id: workspaceId } },
  })
  const query = useQuery(options)
  return (
    <Page
      title="Routing rules"
      docs="routing-rules"
      scope="listed"
      description="The first rule whose condition holds changes the models, providers or tags of a request, or rejects it."
      calls={[callOf(options)]}
      actions={
        mayCreate && (
          <DialogButton label="Create a rule" action="create">
            {(close) => <RuleForm onClose={close} />}
          </DialogButton>
        )
      }
    >
      <QueryView query={query}>
        {({ data }) =>
          data.length === 0 ? (
            <EmptyState title="No routing rules yet">
              A rule sends long prompts to a model with a longer context, moves a team to another provider, or
              rejects requests, without changing an application. Try it on past requests before you save it.
            </EmptyState>
          ) : (
            <RuleTable rules={data} />
          )
        }
      </QueryView>
    </Page>
  )
}
