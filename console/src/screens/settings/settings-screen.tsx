import { createLazyRoute } from '@tanstack/react-router'
import { callOf } from '../../api/call.ts'
import { mayDoEverywhere, useSession } from '../../app/session.tsx'
import { Page } from '../../components/page.tsx'
import { DefaultPlugins, pluginsOptions } from './default-plugins.tsx'
import { PrivacySettings, privacyOptions } from './privacy-settings.tsx'

export const screen = createLazyRoute('/organization')({ component: SettingsScreen })

function SettingsScreen() {
  const session = useSession()
  const readsPrivacy = mayDoEverywhere(session, 'privacy:read')
  const readsPlugins = mayDoEverywhere(session, 'plugins:read')
  const calls = [...(readsPrivacy ? [privacyOptions] : []), ...(readsPlugins ? [pluginsOptions] : [])]
  return (
    <Page
      title="Organization settings"
      docs="guardrails#privacy-settings"
      description="Applies to every workspace, key and member of the organization."
      calls={calls.map(callOf)}
    >
      {readsPrivacy && <PrivacySettings />}
      {readsPlugins && <DefaultPlugins />}
    </Page>
  )
}
