// Adds a button to each code block of the documentation.
for (const block of document.querySelectorAll('.code')) {
  const button = document.createElement('button')
  button.type = 'button'
  button.textContent = 'Copy'
  button.addEventListener('click', async () => {
    const copied = navigator.clipboard?.writeText(block.querySelector('code').textContent)
    button.textContent = await Promise.resolve(copied ?? Promise.reject()).then(
      () => 'Copied',
      () => 'Not copied',
    )
    setTimeout(() => {
      button.textContent = 'Copy'
    }, 2000)
  })
  block.append(button)
}
