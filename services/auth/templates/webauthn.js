// Passkeys and security keys: asks the browser for one, and sends what it answers in the form's field `credential`.
for (const field of document.querySelectorAll('input[name="credential"]')) {
  const { form, dataset } = field;
  const known = typeof globalThis.PublicKeyCredential?.parseRequestOptionsFromJSON === 'function';
  const button = form.querySelector('[data-passkey]');
  const main = form.querySelector('.gp-main');
  const hint = form.querySelector('[data-needs-script]');
  let asking;
  const ask = async (mediation) => {
    asking?.abort();
    asking = new AbortController();
    const { signal } = asking;
    const publicKey = dataset.create
      ? PublicKeyCredential.parseCreationOptionsFromJSON(JSON.parse(dataset.create))
      : PublicKeyCredential.parseRequestOptionsFromJSON(JSON.parse(dataset.request));
    const credential = dataset.create
      ? await navigator.credentials.create({ publicKey, signal })
      : await navigator.credentials.get({ publicKey, signal, ...(mediation && { mediation }) });
    return JSON.stringify(credential.toJSON());
  };
  const send = (value, by) => {
    field.value = value;
    form.requestSubmit(by);
  };
  const askAndSend = async (by) => {
    try {
      send(await ask(), by);
    } catch (error) {
      // Somebody changed his mind, or the key does not know us: the form says so.
      if (error.name !== 'AbortError') send(JSON.stringify({ error: error.name }), by);
    }
  };
  if (known) {
    if (hint) hint.hidden = true;
    const asks = button ?? main;
    asks.hidden = false;
    form.addEventListener(
      'submit',
      (event) => {
        if (event.submitter !== asks || field.value !== '') return;
        event.preventDefault();
        event.stopImmediatePropagation();
        askAndSend(asks);
      },
      true,
    );
    addEventListener('pageshow', () => {
      field.value = '';
    });
    // Not after one was refused: whoever signs in chooses then.
    if ('conditional' in dataset && !document.querySelector('[role=alert]'))
      PublicKeyCredential.isConditionalMediationAvailable?.().then((can) => {
        if (can)
          ask('conditional').then(
            (value) => send(value, button),
            () => {},
          );
      });
  } else if (main && !button) main.disabled = true;
}
