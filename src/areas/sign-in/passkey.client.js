// Run by browsers, on the sign-in page.
const button = document.getElementById('passkey')
const problem = document.getElementById('passkey-problem')
const headers = { 'content-type': 'application/json' }

async function post(path, body) {
  const response = await fetch(path, { method: 'POST', headers, body: JSON.stringify(body) })
  const content = await response.json()
  if (!response.ok) throw new Error(content.problem)
  return content
}

async function signIn() {
  problem.hidden = true
  try {
    const options = await post('/signin/passkey/options', {})
    const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(options)
    const credential = await navigator.credentials.get({ publicKey })
    const { location } = await post('/signin/passkey', credential.toJSON())
    window.location.assign(location)
  } catch (error) {
    problem.textContent = error.name === 'NotAllowedError' ? 'No passkey was chosen.' : error.message
    problem.hidden = false
  }
}

if (window.PublicKeyCredential && PublicKeyCredential.parseRequestOptionsFromJSON) {
  button.hidden = false
  button.addEventListener('click', signIn)
}
